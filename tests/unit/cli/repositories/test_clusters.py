"""ACLs of a live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.model import ANY_BINDING, AclOperation
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.cli.repositories.clusters import ClusterRepository
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.repository import AclContents
from doorkeeper.client.admin import AdminClient, Created, Deleted, Removed
from doorkeeper.client.nodes import Cluster
from testkit.acl import READ, WRITE, allow, topic, wanted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ACLS = [allow("a", READ, topic("t")), allow("b", WRITE, topic("u"))]
UNKNOWN = ACLS[0]._replace(entry=ACLS[0].entry._replace(operation=AclOperation(0)))
NO = ApiError(ErrorCode.INVALID_REQUEST, "no")
ADDRESS = parse_address("kafka://localhost:1")


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that gives the client's methods an answer, or an error to raise."""

    def answer(method: str, value: object) -> None:
        async def call(_client: AdminClient, *arguments: Any, **_options: Any) -> Any:
            if isinstance(value, Exception):
                raise value
            return value(*arguments) if callable(value) else value

        monkeypatch.setattr(AdminClient, method, call)

    answer("metadata_version", 30)
    answer("cluster", Cluster("c", 1, {}))
    return answer


async def test_bindings_of_overlapping_filters_are_returned_once(
    answer: Callable[..., None],
) -> None:
    answer(
        "describe_acls",
        lambda filter_: [
            each for each in ACLS if filter_ is ANY_BINDING or each.pattern.name == "u"
        ],
    )
    cluster = ClusterRepository(ADDRESS)

    assert (await cluster.find([wanted(name="u"), ANY_BINDING])).bindings == ACLS
    assert (await cluster.find([ANY_BINDING])).bindings == ACLS


@pytest.mark.parametrize(("level", "networks"), [(0, None), (30, False), (33, True)])
async def test_network_support_follows_from_the_release(
    answer: Callable[..., None], level: int, *, networks: bool | None
) -> None:
    answer("describe_acls", ACLS)
    answer("metadata_version", level)

    assert (await ClusterRepository(ADDRESS).read()).networks is networks


async def test_unknown_acls_are_counted(answer: Callable[..., None]) -> None:
    answer("describe_acls", [ACLS[0], UNKNOWN])
    cluster = ClusterRepository(ADDRESS)

    assert await cluster.read() == AclContents(
        [ACLS[0]], unknown=1, networks=False, cluster_id="c", login="User:ANONYMOUS"
    )
    assert (await cluster.find([ANY_BINDING])).bindings == [ACLS[0], UNKNOWN]


async def test_changes_return_an_error_for_each_item(answer: Callable[..., None]) -> None:
    """A filter has the error of its own, or else the first one of its bindings."""
    answer("create_acls", [Created(), Created(NO)])
    answer("delete_acls", [Deleted(NO), Deleted(None, (Removed(ACLS[0]), Removed(ACLS[1], NO)))])

    async with ClusterRepository(ADDRESS).change() as session:
        assert await session.add(ACLS) == [None, NO]
        assert await session.remove_matching([ANY_BINDING] * 2) == [NO, NO]


async def test_invalid_addresses_and_properties_are_reported(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.properties"
    wrong.write_text("security.protocol=TCP\n")

    for address, properties, text in (
        (ADDRESS, wrong, r"security\.protocol: found TCP"),
        (ADDRESS, tmp_path / "none", "none"),
        (parse_address("controllers://nonsense"), None, "expected: host:port"),
    ):
        with pytest.raises(RepositoryError, match=text):
            await ClusterRepository(address, properties).read()
