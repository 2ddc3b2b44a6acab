"""An answer is given again to the same request, while nothing that it depends on has changed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import Closed
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


def test_a_second_answer_differs_in_its_correlation_id_only(handled: list[int]) -> None:
    """Its handler is not called; the request and its error are counted."""
    client = connection()

    (first,) = ask(client, versions(correlation_id=5))
    again = client.repeat(versions(correlation_id=-6), 0)
    row = ask(client, versions(correlation_id=7), versions(correlation_id=8))

    assert (handled, client.counts.requests) == ([18], 4)
    assert client.answer_codes == [(18, 0)] * 4
    ids = [answer(each[4:], ApiVersionsResponse, 3)[0] for each in (first, again, *row)]
    assert ids == [5, -6, 7, 8]
    assert {each[:4] + each[8:] for each in (first, again, *row)} == {first[:4] + first[8:]}


def test_other_bytes_are_another_request(handled: list[int]) -> None:
    """The software and the version are part of them; trailing bytes are counted each time."""
    client = connection()
    frame = versions() + b"!!"
    frame = (len(frame) - 4).to_bytes(4) + frame[4:]

    ask(client, versions(), versions(software="other"), versions(version=2), frame, frame)

    assert len(handled) == 5
    assert client.counts.trailing_bytes == 4
    assert client.client_software == "test/1.0"


@pytest.mark.parametrize("size", [0, 1, 255])
def test_only_one_whole_request_is_answered_at_once(handled: list[int], size: int) -> None:
    """Neither a part, nor two, nor a size that says something else."""
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
def test_what_a_plug_in_decides_is_never_repeated(
    handled: list[int], asked: MetadataRequest, version: int, times: int
) -> None:
    """Where an authorizer decides of which nothing more is known, as a plug-in."""
    client = connection()
    node: Any = client.node
    node.authorizer = object()

    ask(client, request(asked, version), request(asked, version))

    assert handled == [3] * times


@pytest.mark.usefixtures("handled")
def test_a_new_state_is_asked_again(handled: list[int]) -> None:
    """States are compared by identity, and not by what is in them."""
    client = connection()
    node: Any = client.node

    ask(client, request(NO_TOPICS, 5))
    node.state = replace(EMPTY)
    ask(client, request(NO_TOPICS, 5), request(NO_TOPICS, 5))

    assert handled == [3, 3]


def test_nothing_is_repeated_when_the_session_is_over(handled: list[int]) -> None:
    """Until then it is; a request behind that is handled as any other, which closes."""
    client = connection()
    ask(client, versions())
    client.session._enter(SessionState.LIMITED)
    client.session.expires_s = 5.0

    assert client.repeat(versions(), 4.9) is not None
    assert client.repeat(versions(), 5.0) is None
    (end,) = ask(client, versions(), now_s=5.0)
    assert isinstance(end, Closed)


def test_long_answers_are_not_kept_nor_given_while_requests_are_logged(handled: list[int]) -> None:
    """The request log has a line for each request."""
    short, long = connection(limits=Limits(repeated_bytes_max=100)), connection()
    ask(short, versions(), versions())
    ask(long, versions())
    long.request_records = []
    ask(long, versions())

    assert len(handled) == 4
