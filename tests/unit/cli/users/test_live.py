"""Users of a server that runs, as the command has them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from doorkeeper.cli.users.live import LiveUsers
from doorkeeper.client.errors import ClientError
from doorkeeper.client.scram import Altered
from doorkeeper.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.client.admin import AdminClient

REFUSED = Altered(ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "no"))


class Client:
    """A client with results of the test's own."""

    def __init__(self, *results: Altered) -> None:
        self.asked: list[Any] = []
        self._results = list(results)

    async def scram_credentials(self) -> dict[str, dict[str, int]]:
        return {"a": {"SCRAM-SHA-256": 4096}}

    async def alter_scram_credentials(self, changes: list[Any]) -> list[Altered]:
        self.asked += changes
        return [self._results.pop(0) for _ in changes]


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """Give a loop."""
    with asyncio.Runner() as found:
        yield found


def users(client: Client, runner: asyncio.Runner) -> LiveUsers:
    return LiveUsers(cast("AdminClient", client), runner)


def test_what_was_changed_before_a_refusal_is_told(runner: asyncio.Runner) -> None:
    """Two requests are no transaction."""
    with pytest.raises(ClientError) as put:
        users(Client(Altered(), REFUSED), runner).put(
            "alice", {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 1}, "x"
        )
    with pytest.raises(ClientError) as deleted:
        users(Client(REFUSED), runner).delete("alice", ["SCRAM-SHA-512"])

    assert str(put.value) == (
        "SCRAM-SHA-512: UNACCEPTABLE_CREDENTIAL: no; changed before: SCRAM-SHA-256"
    )
    assert str(deleted.value) == "SCRAM-SHA-512: UNACCEPTABLE_CREDENTIAL: no"
