"""Requests for APIs without a handler: an answer, and the connection stays open."""

from __future__ import annotations

import pytest

from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.protocol.exchange import Refused
from doorkeeper_wire.interpreted import decode, encode
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.unserved import UNSERVED
from testkit.deliveries import CUTS, Cut, body, closed, handled, header, one, results
from testkit.edge import LOGIN, bare, connection, describe, frames, handshake

TXN_OFFSET_COMMIT, VOTE, JOIN_GROUP, ADD_RAFT_VOTER = 28, 52, 11, 80


def unserved(key: int, version: int, correlation_id: int = 1, **values: object) -> bytes:
    """Return the frame of a request without a handler."""
    declared = UNSERVED[key]
    flexible = version >= declared.flexible_from
    head = header(key, version, correlation_id) + b"\xff\xff" + (b"\0" if flexible else b"")
    return bare(head + encode(declared.request, values, version, flexible=flexible))


def code(frame: bytes, key: int, version: int) -> tuple[int, int]:
    """Return correlation id and error code of an answer."""
    declared = UNSERVED[key]
    flexible = version >= declared.flexible_from
    at = 5 if flexible else 4
    values, end = decode(declared.response, frame, at, version, flexible=flexible)
    assert end == len(frame)
    return int.from_bytes(frame[:4]), values["ErrorCode"]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("version", [0, 9])
def test_it_is_answered_and_the_next_request_is_served(cut: Cut, version: int) -> None:
    """In the order of the requests, however the bytes are cut."""
    sent = [describe("a"), unserved(JOIN_GROUP, version, 7), describe("b", 8)]

    found = results(connection(), b"".join(sent), cut)

    first, second, third = found
    assert body(first, DescribeAclsResponse, 3).error_message == "a"
    assert code(frames(second)[0], JOIN_GROUP, version) == (7, 35)
    assert body(third, DescribeAclsResponse, 3).error_message == "b"


def test_kinds_of_listeners_have_their_own_apis() -> None:
    """An API that Kafka has on the other kind only ends the connection, as there."""
    vote, voter = unserved(VOTE, 1), unserved(ADD_RAFT_VOTER, 0)

    assert "disabled api with key 52 (Vote)" in closed(connection(), vote).reason
    assert code(frames(one(connection(controller=True), vote))[0], VOTE, 1)[1] == 35
    assert code(frames(one(connection(), voter))[0], ADD_RAFT_VOTER, 0)[1] == 35
    join = unserved(JOIN_GROUP, 9)
    assert "disabled api with key 11" in closed(connection(controller=True), join).reason


def test_a_malformed_request_ends_it() -> None:
    """The line names the field, as for an API that is served."""
    frame = unserved(JOIN_GROUP, 2)

    found = closed(connection(), bare(frame[4:-2]))

    assert found.reason == "Error getting request for apiKey: JoinGroup, apiVersion: 2"
    assert found.fields["field"] == "Protocols"


def test_elements_are_bounded() -> None:
    """More of them than a request may have make it malformed, before they are made."""
    topics = [{"Name": "", "Partitions": []}] * 20
    frame = unserved(TXN_OFFSET_COMMIT, 1, Topics=topics)

    assert isinstance(one(connection(limits=Limits(elements_max=20)), frame), bytes)
    found = closed(connection(limits=Limits(elements_max=19)), frame)
    assert "more than allowed" in str(found.fields["cause"])


def test_a_large_request_is_decoded_in_a_thread() -> None:
    """As those of other APIs."""
    to = connection()
    topics = [{"Name": "x" * 30_000, "Partitions": []}] * 3

    pending = one(to, unserved(TXN_OFFSET_COMMIT, 1, Topics=topics))

    answered = handled(to, pending)
    assert isinstance(answered, bytes)
    assert answered.count(b"x" * 30_000) == 3


def test_before_the_authentication_it_is_refused_in_its_own_form() -> None:
    """With 34, where only SaslAuthenticate may come; the connection ends, as on a broker."""
    to = connection(LOGIN)
    one(to, handshake())

    refused = one(to, unserved(JOIN_GROUP, 5))

    assert isinstance(refused, Refused)
    assert code(frames(refused.answer)[0], JOIN_GROUP, 5)[1] == 34
