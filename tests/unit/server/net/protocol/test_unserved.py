"""Requests for APIs without a handler: an answer, and the connection stays open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.protocol.exchange import Closed, Refused
from doorkeeper.server.net.protocol.large_request import LargeRequest
from doorkeeper_wire.api_keys import FLEXIBLE_FROM
from doorkeeper_wire.declared import tree
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.deliveries import CUTS, Cut, body, closed, handled, header, one, whole
from testkit.edge import LOGIN, bare, connection, describe, frames, handshake
from testkit.wire_values import refused_apis

if TYPE_CHECKING:
    from doorkeeper.server.net.protocol.connection import Connection

TXN_OFFSET_COMMIT, VOTE, JOIN_GROUP, ADD_RAFT_VOTER = 28, 52, 11, 80


def unserved(key: int, version: int, correlation_id: int = 1, **values: object) -> bytes:
    """Return the frame of a request without a handler."""
    flexible = version >= FLEXIBLE_FROM[key]
    head = header(key, version, correlation_id) + b"\xff\xff" + (b"\0" if flexible else b"")
    name = refused_apis()[key].messages[0].name
    return bare(head + tree(name, version).build(values))


def code(frame: bytes, key: int, version: int) -> tuple[int, int]:
    """Return correlation id and error code of an answer."""
    at = 5 if version >= FLEXIBLE_FROM[key] else 4
    name = refused_apis()[key].messages[1].name
    values, end = tree(name, version).decode(frame, at)
    assert end == len(frame)
    return int.from_bytes(frame[:4]), values["error_code"]


def answered(to: Connection, data: bytes, cut: Cut = whole) -> list[Any]:
    """Deliver bytes; return all that came of them, after the thread that reads such requests."""
    found: list[Any] = []
    for piece in cut(data):
        to.receive(piece)
        while (result := to.advance(0.0)) is not None:
            found.append(handled(to, result) if isinstance(result, LargeRequest) else result)
    return found


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("version", [0, 9])
def test_unserved_api_keeps_the_connection(cut: Cut, version: int) -> None:
    sent = [describe("a"), unserved(JOIN_GROUP, version, 7), describe("b", 8)]

    first, second, third = answered(connection(), b"".join(sent), cut)

    assert body(first, DescribeAclsResponse, 3).error_message == "a"
    assert code(frames(second)[0], JOIN_GROUP, version) == (7, 35)
    assert body(third, DescribeAclsResponse, 3).error_message == "b"


def test_listener_types_have_their_own_apis() -> None:
    """An API that Kafka has on the other kind only ends the connection, as there."""
    vote, voter = unserved(VOTE, 1), unserved(ADD_RAFT_VOTER, 0)

    assert "disabled api with key 52 (Vote)" in closed(connection(), vote).reason
    assert code(frames(*answered(connection(controller=True), vote))[0], VOTE, 1)[1] == 35
    assert code(frames(*answered(connection(), voter))[0], ADD_RAFT_VOTER, 0)[1] == 35
    join = unserved(JOIN_GROUP, 9)
    assert "disabled api with key 11" in closed(connection(controller=True), join).reason


def test_malformed_unserved_request_ends_the_connection() -> None:
    frame = unserved(JOIN_GROUP, 2)

    [found] = answered(connection(), bare(frame[4:-2]))

    assert isinstance(found, Closed)
    assert found.reason == "Error getting request for apiKey: JoinGroup, apiVersion: 2"
    assert found.fields["field"] == "protocols"


def test_unserved_array_elements_are_limited() -> None:
    topics = [{"name": ""}] * 20
    frame = unserved(TXN_OFFSET_COMMIT, 1, topics=topics)

    [allowed] = answered(connection(limits=Limits(elements_max=20)), frame)
    [found] = answered(connection(limits=Limits(elements_max=19)), frame)

    assert isinstance(allowed, bytes)
    assert "exceed the limit" in str(found.fields["cause"])


def test_unserved_requests_are_decoded_in_a_thread() -> None:
    """However small: the first of all imports construct, which takes 50 ms."""
    pending = one(connection(), unserved(JOIN_GROUP, 0))

    assert isinstance(pending, LargeRequest)
    assert pending.request.body is None


def test_unserved_request_before_authentication_is_rejected() -> None:
    """With 34, where only SaslAuthenticate may come; the connection ends, as on a broker."""
    to = connection(LOGIN)
    one(to, handshake())

    refused = one(to, unserved(JOIN_GROUP, 5))

    assert isinstance(refused, Refused)
    assert code(frames(refused.answer)[0], JOIN_GROUP, 5)[1] == 34
