"""Users of a cluster of which one broker lags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.config import Address
from doorkeeper.client.errors import ClientError
from doorkeeper.client.nodes import Cluster
from doorkeeper.client.scram import Altered, ScramDeletion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from click.testing import Result

    Run = Callable[..., Result]

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
BEFORE = {SHA_512: 8192}


@pytest.fixture
def users(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return the credentials of bob; the first broker lists those before, the third none."""
    now = {SHA_256: 4096}

    async def cluster(_client: AdminClient) -> Cluster:
        return Cluster("c", 1, dict.fromkeys((1, 2, 3), Address("localhost", 1)))

    async def listed(_client: AdminClient, *, node_id: int | None = None) -> Any:
        if node_id == 3:
            raise ClientError("no answer")
        return {"bob": BEFORE if node_id is None else dict(now)}

    async def alter(_client: AdminClient, changes: Sequence[Any]) -> list[Altered]:
        [change] = changes
        if not isinstance(change, ScramDeletion):
            now[change.mechanism] = change.iterations
        elif now.pop(change.mechanism, None) is None:
            return [Altered(ApiError(ErrorCode.RESOURCE_NOT_FOUND))]
        return [Altered()]

    monkeypatch.setattr(AdminClient, "cluster", cluster)
    monkeypatch.setattr(AdminClient, "scram_credentials", listed)
    monkeypatch.setattr(AdminClient, "alter_scram_credentials", alter)
    return now


def run(verb: str, *words: str) -> Result:
    line = ["users", verb, "kafka://localhost:1", "bob", *words]
    return CliRunner().invoke(doorkeeper, line, input="bob-secret\n")


def test_removed_user_keeps_no_password(users: dict[str, int]) -> None:
    """One of SCRAM-SHA-256, which the first broker does not list, was still accepted."""
    found = run("remove")

    assert (found.exit_code, users) == (0, {})
    assert "note: 1 broker did not answer" in found.stderr
    assert "note: brokers do not list the same users; a broker may lag" in found.stderr


def test_new_password_replaces_all(users: dict[str, int]) -> None:
    assert run("set-password", "--password-file", "-", "--iterations", "5000").exit_code == 0
    assert users[SHA_256] == 5000


def test_password_is_not_replaced_by_add(users: dict[str, int]) -> None:
    found = run("add", "--password-file", "-", "--mechanism", SHA_256)

    assert (found.exit_code, users) == (1, {SHA_256: 4096})
    assert "bob already has a password for SCRAM-SHA-256" in found.stderr
