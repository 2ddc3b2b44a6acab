"""The drift that descriptions of brokers show."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, cast

import pytest

from doorkeeper.acls.plan import Selector, SelectorUnion
from doorkeeper.client.errors import ApiFailure
from doorkeeper.sync.config import ClusterConfig
from doorkeeper.sync.drift import NO_BINDINGS, AclDrift, compare
from doorkeeper.sync.remote import DescriptionReader, RemoteCluster, common_drift
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from testkit.acl import READ, WRITE, allow, deny, topic
from testkit.descriptions import answer

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.client.admin import AdminClient
    from doorkeeper.sync.drift import Bindings

SCOPE = SelectorUnion((Selector(prefixes=("p-",)),))
ALL = [
    each(user, operation, topic(name))
    for each in (allow, deny)
    for user in ("alice", "x" * 200)
    for operation in (READ, WRITE)
    for name in ("p-a", "p-b", "p-" + "c" * 200, "q-a", "q-b")
]
MINE = [each for each in ALL if SCOPE.selects(each)]


def some(chance: Random, bindings: list[AclBinding]) -> Bindings:
    return frozenset(chance.sample(bindings, chance.randint(0, len(bindings))))


Drifts = dict[int, tuple[bytes, AclDrift]]


def read(
    drifts: Drifts, desired: Bindings, body: bytes, broker: int = 1, version: int = 3
) -> AclDrift:
    reader = DescriptionReader(broker, desired, SCOPE, drifts)
    return reader.decode(b"head" + body, 4, version)[0]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_description_is_compared(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of whichever broker, in its order, with the desired set of the moment; equal bytes once."""
    chance = Random(24)
    drifts: Drifts = {}
    desired = present = NO_BINDINGS
    decoded, decode = 0, DescribeAclsResponse.decode

    def counted(*args: object) -> object:
        nonlocal decoded
        decoded += 1
        return decode(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(DescribeAclsResponse, "decode", counted)
    for _ in range(200):
        if chance.random() < 0.2:
            desired, drifts = some(chance, MINE), {}
        if chance.random() < 0.2:
            present = some(chance, ALL)
        broker = chance.choice((1, 2))
        body = answer(sorted(present, reverse=broker == 2), version)

        assert read(drifts, desired, body, broker, version) == compare(desired, present, SCOPE)
    assert 30 < decoded < 150


class HeldAnswer(RemoteCluster):
    """A cluster of one broker, whose first answer is decoded when it is let go."""

    def __init__(self, desired: set[AclBinding], body: bytes) -> None:
        super().__init__(ClusterConfig("k", "k:1", {}, SCOPE), desired)
        self._body = body
        self.asked, self.release = asyncio.Event(), asyncio.Event()

    def _open(self) -> AdminClient:
        return cast("AdminClient", self)

    async def call(self, _request: object, reader: DescriptionReader, *, node_id: int) -> AclDrift:
        del node_id
        self.asked.set()
        await self.release.wait()
        return reader.decode(self._body, 0, 3)[0]


async def test_outdated_comparison_is_discarded() -> None:
    desired = set(MINE[:1])
    remote = HeldAnswer(desired, answer(MINE[:1]))
    late = asyncio.create_task(remote.compare([1]))
    await remote.asked.wait()
    remote.forget_drifts()
    remote.release.set()
    await late
    desired.clear()

    assert common_drift(await remote.compare([1])).extra == set(MINE[:1])


def test_truncated_response_is_rejected() -> None:
    body = answer(ALL[:12])
    drifts: Drifts = {}
    whole = compare(NO_BINDINGS, frozenset(ALL[:12]), SCOPE)
    for _ in range(2):
        for size in range(len(body)):
            with pytest.raises(Malformed):
                read(drifts, NO_BINDINGS, body[:size])
        assert read(drifts, NO_BINDINGS, body) == whole


def test_error_response_raises() -> None:
    refused = DescribeAclsResponse(error_code=31, error_message="no").encode(3)

    with pytest.raises(ApiFailure, match="no"):
        read({}, NO_BINDINGS, refused)


def test_unknown_codes_are_skipped() -> None:
    row = AclDescription(principal="User:a", host="*", operation=99, permission_type=3)
    resource = DescribeAclsResource(resource_type=2, resource_name="p-t", acls=(row,))

    body = DescribeAclsResponse(resources=(resource,)).encode(3)

    assert read({}, NO_BINDINGS, body) == AclDrift()
