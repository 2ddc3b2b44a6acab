"""An answer is given again to the same request, while nothing that it depends on has changed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import Closed, Counts
from doorkeeper.server.net.protocol.logins import abandon
from doorkeeper.server.net.protocol.session import SessionState
from doorkeeper.server.state.state import EMPTY
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from testkit.edge import answer, connection, request, versions
from testkit.edge_apis import APIS

NO_TOPICS = MetadataRequest(topics=())


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the API of each request that a handler gets; Metadata is answered with nothing."""
    found: list[int] = []
    described = replace(
        APIS[18], key=3, name="Metadata", min_version=0, max_version=13, request=MetadataRequest
    )
    monkeypatch.setitem(APIS, 3, replace(described, handle=lambda *_: MetadataResponse()))
    for key in (3, 18):
        handle = APIS[key].handle

        def count(*arguments: Any, key: int = key, handle: Any = handle) -> Any:
            found.append(key)
            return handle(*arguments)

        monkeypatch.setitem(APIS, key, replace(APIS[key], handle=count))
    return found


def ask(client: Connection, *frames: bytes, now_s: float = 0) -> list[Any]:
    client.receive(b"".join(frames))
    return [client.advance(now_s) for _ in frames]


def test_repeated_response_differs_only_in_correlation_id(handled: list[int]) -> None:
    client = connection()

    (first,) = ask(client, versions(correlation_id=5))
    again = client.repeat(versions(correlation_id=-6), 0)
    row = ask(client, versions(correlation_id=7), versions(correlation_id=8))

    assert (handled, client.counts.requests) == ([18], 4)
    assert client.answer_codes == [(18, 0)] * 4
    ids = [answer(each[4:], ApiVersionsResponse, 3)[0] for each in (first, again, *row)]
    assert ids == [5, -6, 7, 8]
    assert {each[:4] + each[8:] for each in (first, again, *row)} == {first[:4] + first[8:]}


def test_different_bytes_are_a_different_request(handled: list[int]) -> None:
    client = connection()
    frame = versions() + b"!!"
    frame = (len(frame) - 4).to_bytes(4) + frame[4:]

    ask(client, versions(), versions(software="other"), versions(version=2), frame, frame)

    assert len(handled) == 5
    assert client.counts.trailing_bytes == 4
    assert client.client_software == "test/1.0"


@pytest.mark.parametrize("size", [0, 1, 255])
def test_only_one_complete_request_is_repeated(handled: list[int], size: int) -> None:
    client = connection()
    frame = versions()
    ask(client, frame)

    for data in (frame[:-1], frame * 2, size.to_bytes(4) + frame[4:]):
        assert client.repeat(data, 0) is None
    assert client.repeat(frame, 0) is not None


@pytest.mark.parametrize(
    ("asked", "version", "times"),
    [
        (NO_TOPICS, 5, 1),
        (NO_TOPICS, 0, 2),
        (MetadataRequest(topics=None), 5, 2),
        (MetadataRequest(topics=(MetadataRequestTopic(name="a"),)), 5, 2),
        (MetadataRequest(topics=(), include_cluster_authorized_operations=True), 8, 2),
    ],
)
def test_plug_in_decisions_are_never_repeated(
    handled: list[int], asked: MetadataRequest, version: int, times: int
) -> None:
    client = connection()
    node: Any = client.node
    node.authorizer = object()

    ask(client, request(asked, version), request(asked, version))

    assert handled == [3] * times


@pytest.mark.usefixtures("handled")
def test_changed_state_is_not_repeated(handled: list[int]) -> None:
    client = connection()
    node: Any = client.node

    ask(client, request(NO_TOPICS, 5))
    node.state = replace(EMPTY)
    ask(client, request(NO_TOPICS, 5), request(NO_TOPICS, 5))

    assert handled == [3, 3]


def test_expired_session_is_not_repeated(handled: list[int]) -> None:
    client = connection()
    ask(client, versions())
    client.session._enter(SessionState.LIMITED)
    client.session.expires_s = 5.0

    assert client.repeat(versions(), 4.9) is not None
    assert client.repeat(versions(), 5.0) is None
    (end,) = ask(client, versions(), now_s=5.0)
    assert isinstance(end, Closed)


def test_long_answers_of_all_connections_have_one_bound(handled: list[int]) -> None:
    counts = Counts()
    size = len(ask(connection(), versions())[0]) + len(versions())
    limits = Limits(repeated_bytes_max=100, repeated_bytes_max_of_all=size)
    first, second = (connection(limits=limits, counts=counts) for _ in range(2))

    def times(client: Connection) -> int:
        handled.clear()
        ask(client, versions(), versions())
        return len(handled)

    assert (times(first), times(second)) == (1, 2)
    abandon(first)
    assert counts.repeated_bytes == 0
    assert times(second) == 1
    ask(second, versions(version=2))
    assert counts.repeated_bytes < size
    abandon(second)
    assert counts.repeated_bytes == 0


def test_long_or_logged_responses_are_not_kept(handled: list[int]) -> None:
    none = Limits(repeated_bytes_max=100, repeated_bytes_max_of_all=0)
    short, long = connection(limits=none), connection()
    ask(short, versions(), versions())
    ask(long, versions())
    long.request_records = []
    ask(long, versions())

    assert len(handled) == 4
