"""The response cache: what is found, for which client, and when it is dropped."""

from __future__ import annotations

from typing import Any, cast

import pytest

from doorkeeper.acls.model import Principal
from doorkeeper.base.slices import run_to_end
from doorkeeper.server.authorizer.guard import RecordedDecision
from doorkeeper.server.net.options import UNAUTHENTICATED
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import ChunkedResponse, Closed, Counts, SideEffects
from doorkeeper.server.net.protocol.response_cache import CacheEntry, CacheKey, ResponseCache
from doorkeeper.server.net.protocol.session import SessionState
from doorkeeper.server.runtime.limits import Limits
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import answer, connection, create, describe, versions
from testkit.edge_apis import APIS, EdgeNode

PEER = connection().peer


class World:
    """The version and the counters that responses depend on; handlers are counted."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.version: tuple[object, ...] | None = ("one",)
        self.allowed = self.denied = self.traces = 0
        self.handled = 0
        self.counts = Counts()
        self.cache = ResponseCache(lambda: self.version, self, limits or Limits())
        self.trace = False
        self.recorded: list[Any] | None = None
        self.again: list[tuple[object, int]] = []
        self.kept: list[RecordedDecision] = []
        self.on_decision: Any = lambda *_: None
        self.on_repeat = self._repeat

    def _repeat(self, recorded: RecordedDecision, correlation_id: bytes) -> None:
        self.again.append((recorded.context, int.from_bytes(correlation_id, signed=True)))

    def client(self) -> Connection:
        """Return a connection of the one client."""

        def api(key: int) -> Any:
            found = APIS[key]

            def handle(*arguments: Any) -> Any:
                self.handled += 1
                self.allowed += 2
                self.denied += 1
                self.traces += self.trace
                if self.recorded is not None:
                    context: Any = f"decision {self.handled}"
                    self.kept.append(RecordedDecision((context, [], [])))
                    self.recorded.append(self.kept[-1])
                return found.handle(*arguments)

            return found._replace(handle=handle)

        made = Connection(
            PEER,
            node=cast("Any", EdgeNode()),
            apis=api,
            mechanisms=None,
            builder=UNAUTHENTICATED.builder,
            limits=Limits(),
            counts=self.counts,
            cache=self.cache,
        )
        assert made.start() is None
        return made


def ask(client: Connection, frame: bytes) -> bytes:
    client.receive(frame)
    made = client.advance(0)
    assert isinstance(made, bytes)
    return made


def test_a_second_answer_differs_in_its_correlation_id_only() -> None:
    """Its handler is not called; request, decisions and error count as of the first."""
    world = World()
    client = world.client()

    first = ask(client, versions(correlation_id=5))
    again = ask(client, versions(correlation_id=-6))

    assert (world.handled, world.cache.hits, world.counts.requests) == (1, 1, 2)
    assert (world.allowed, world.denied) == (4, 2)
    assert client.answer_codes == [(18, 0)] * 2
    assert answer(first[4:], ApiVersionsResponse, 3)[0] == 5
    assert answer(again[4:], ApiVersionsResponse, 3)[0] == -6
    assert first[:4] + first[8:] == again[:4] + again[8:]


def test_other_bytes_are_another_request() -> None:
    """The client's software and the version are part of them; trailing bytes are never cached."""
    world = World()
    client = world.client()
    frame = versions() + b"!!"
    frame = (len(frame) - 4).to_bytes(4) + frame[4:]

    for sent in (versions(), versions(software="other"), versions(version=2), frame, frame):
        ask(client, sent)

    assert (world.handled, world.cache.hits) == (5, 0)
    assert world.counts.trailing_bytes == 4


def test_only_one_whole_request_is_answered_at_once() -> None:
    """Behind what waits, in pieces, with another one, or never asked before, it is received."""
    world = World()
    client = world.client()
    assert client.cached_answer(versions(), 0) is None
    asked = ask(client, versions(correlation_id=1))

    again = client.cached_answer(versions(correlation_id=2), 0)
    assert again == asked[:4] + (2).to_bytes(4) + asked[8:]
    assert client.is_empty
    assert client.cached_answer(versions()[:-1], 0) is None
    assert client.cached_answer(versions() * 2, 0) is None
    client.receive(versions()[:3])
    assert client.cached_answer(versions(), 0) is None
    client.receive(versions()[3:])
    assert client.cached_answer(versions(), 0) is None
    client.request_records = []
    client.advance(0)
    assert client.cached_answer(versions(), 0) is None


@pytest.mark.parametrize("size", [0, 1, 255])
def test_the_size_is_part_of_the_question(size: int) -> None:
    """Bytes whose size says less, or that more is to come, are no request that came before."""
    client = World().client()
    frame = versions()
    ask(client, frame)

    assert client.cached_answer(size.to_bytes(4) + frame[4:], 0) is None
    assert client.cached_answer(frame, 0) is not None


@pytest.mark.parametrize("first", [1, 4, 5, len(versions()) - 1])
def test_what_is_in_pieces_is_not_answered_at_once(first: int) -> None:
    """Also where the first piece is the size alone, of which nothing is held."""
    client = World().client()
    frame = versions()
    asked = ask(client, frame)

    client.receive(frame[:first])
    assert client.cached_answer(frame, 0) is None
    client.receive(frame[first:])

    assert client.advance(0) == asked


def test_what_comes_in_a_row_is_answered_in_a_row() -> None:
    """Up to the first that is not known; what is left waits where it was."""
    world = World()
    client = world.client()
    asked = ask(client, versions(correlation_id=1))

    client.receive(b"".join(versions(correlation_id=each) for each in (2, 3)) + describe("new", 4))

    made = client.cached_answers(0, 10, 10_000)
    assert made == [asked[:4] + each.to_bytes(4) + asked[8:] for each in (2, 3)]
    assert client.buffered_bytes == len(describe("new", 4)) - 4
    assert world.handled == 1
    assert world.counts.requests == 3
    assert client.answer_codes == [(18, 0)] * 3
    assert isinstance(client.advance(0), bytes)
    assert world.handled == 2
    assert client.is_empty


@pytest.mark.parametrize(
    ("answers_max", "bytes_max", "made"), [(2, 10_000, 2), (9, 1, 1), (9, 0, 0), (0, 10_000, 0)]
)
def test_a_row_has_an_end(answers_max: int, bytes_max: int, made: int) -> None:
    """So many answers, or the one that makes too many bytes."""
    client = World().client()
    ask(client, versions())
    client.receive(versions() * 4)

    assert len(client.cached_answers(0, answers_max, bytes_max)) == made
    assert client.buffered_bytes == (4 - made) * (len(versions()) - 4)


def test_no_row_is_answered_from_another_version() -> None:
    """Nor while requests are logged, nor for a request that is too long to be cached."""
    limits = Limits(cached_request_bytes_max=len(versions()) - 4)
    world = World(limits)
    client = world.client()
    ask(client, versions())

    long = describe("a name that makes the whole request longer than the other one")
    assert len(long) > len(versions())
    ask(client, long)
    client.receive(long * 2)
    assert client.cached_answers(0, 2, 10_000) == []
    client.advance(0)
    client.advance(0)
    client.receive(versions() * 3)
    client.request_records = []
    assert client.cached_answers(0, 2, 10_000) == []
    client.request_records = None
    world.version = ("two",)
    assert client.cached_answers(0, 2, 10_000) == []
    assert world.cache.hits == 0


def test_nothing_is_cached_when_the_session_is_over() -> None:
    """Until then it is; a request behind that is handled as any other, which closes."""
    client = World().client()
    ask(client, versions())
    client.session._enter(SessionState.LIMITED)
    client.session.expires_s = 5.0

    assert client.cached_answer(versions(), 4.9) is not None
    assert client.cached_answer(versions(), 5.0) is None
    client.receive(versions() * 2)
    assert client.cached_answers(5.0, 2, 10_000) == []
    assert isinstance(client.advance(5.0), Closed)


def test_behind_a_fault_nothing_is_answered() -> None:
    """Neither while it waits to be told nor when the connection has ended."""
    client = World().client()
    ask(client, versions())
    client.receive(b"\xff\xff\xff\xff")

    assert client.cached_answer(versions(), 0) is None
    client.advance(0)
    assert client.cached_answer(versions(), 0) is None


def test_decisions_are_repeated() -> None:
    """Those of the cached response, under the correlation id of the new request; decisions of
    requests that are not cached are not held."""
    world = World()
    client = world.client()
    ask(client, describe("a"))
    ask(client, describe("b"))

    ask(client, describe("b", -7))
    ask(client, describe("a", 8))

    assert world.again == [("decision 2", -7), ("decision 1", 8)]
    client.receive(create(["x"]))
    client.advance(0)
    assert world.recorded is None


def test_decisions_that_are_merged_are_counted_on() -> None:
    """Above zero, count, time and correlation id are noted; ``on_repeat`` is not called."""
    world = World()
    client = world.client()
    ask(client, describe("a"))
    ask(client, describe("a", 1))
    (told,) = world.kept
    told.count = 1

    ask(client, describe("a", -7))
    assert client.cached_answer(describe("a", 8), 12) is not None

    assert world.again == [("decision 1", 1)]
    assert told.count == 3
    assert told.last_s == 12
    assert told.last_correlation_id == (8).to_bytes(4)


def test_a_chunked_response_is_cached() -> None:
    """With the decisions of its own request: those of others, made meanwhile, are theirs."""
    world = World()
    client, other = world.client(), world.client()
    client.receive(describe("pieces:1000"))
    chunked = client.advance(0)
    assert isinstance(chunked, ChunkedResponse)
    next(chunked.body)
    ask(other, describe("a"))

    made = client.complete_chunked(chunked, run_to_end(chunked.body))
    world.allowed = world.denied = 0
    again = ask(client, describe("pieces:1000", 2))

    assert isinstance(made, bytearray)
    assert made[8:] == again[8:]
    assert len(answer(again[4:], DescribeAclsResponse, 3)[1].resources) == 1000
    assert world.cache.hits == 1
    assert (world.allowed, world.denied) == (2, 1)
    assert world.again == [("decision 1", 2)]


def test_a_response_of_an_older_version_is_not_cached() -> None:
    """It was right when it was asked for, and is sent once."""
    world = World()
    client = world.client()
    client.receive(describe("pieces:1000"))
    chunked = client.advance(0)
    assert isinstance(chunked, ChunkedResponse)
    next(chunked.body)

    world.version = ("two",)
    client.complete_chunked(chunked, run_to_end(chunked.body))

    assert world.cache.size == 0


def test_entries_are_for_all_connections_of_a_client() -> None:
    """The second connection's software is known once it has said it."""
    world = World()
    first, second = world.client(), world.client()
    ask(first, describe("a"))

    ask(second, describe("a"))

    assert world.handled == 1


@pytest.mark.parametrize("other", [("two",), None])
def test_another_version_drops_the_entries(other: tuple[object, ...] | None) -> None:
    """Also one that is not known, for which nothing is cached either."""
    world = World()
    client = world.client()
    ask(client, versions())

    world.version = other
    ask(client, versions())

    assert world.handled == 2
    assert world.cache.hits == 0
    ask(client, versions())
    assert world.handled == (2 if other else 3)


def test_an_answer_that_was_written_about_is_made_anew() -> None:
    """The second line is as much wanted as the first."""
    world = World()
    world.trace = True
    client = world.client()

    ask(client, versions())
    ask(client, versions())

    assert world.handled == 2
    assert world.traces == 2


def test_too_many_bytes_drop_all_entries() -> None:
    """What is asked again is cached again."""
    world = World(Limits(response_cache_bytes_max=2_000))
    client = world.client()

    for number in range(200):
        ask(client, describe(f"name-{number}"))
        assert world.cache.size <= 2_000
    ask(client, describe("name-199"))

    assert world.handled == 200
    assert world.cache.size > 0


def test_entries_go_with_the_last_connection_of_their_client() -> None:
    """Nothing is held for a client that has left."""
    world = World()
    client = world.client()
    ask(client, versions())
    assert world.cache.size > 0

    del client

    assert world.cache.size == 0


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        (Limits(cached_response_bytes_max=10), 0),
        (Limits(cached_request_bytes_max=10), 0),
        (Limits(), 1),
    ],
)
def test_long_requests_and_answers_are_not_kept(limits: Limits, kept: int) -> None:
    """One of them would push out many."""
    world = World(limits)
    client = world.client()

    ask(client, versions())
    ask(client, versions())

    assert world.cache.hits == kept


def test_clients_have_their_own_entries() -> None:
    """Each field of the key counts."""
    cache = ResponseCache(lambda: (0,), None, Limits())
    key = CacheKey(
        "L", "PLAINTEXT", "h", False, Principal("User", "a"), False, connection().client.client
    )
    others: list[Any] = ["M", "SSL", "i", True, Principal("User", "b"), True, ("x", "1")]
    kept = cache.entries_of(key)

    for name, value in zip(CacheKey._fields, others, strict=True):
        other = cache.entries_of(key._replace(**{name: value}))
        assert other is not kept, name

    assert cache.entries_of(key) is kept


def test_an_entry_counts_with_its_request() -> None:
    """Both stay in memory."""
    cache = ResponseCache(lambda: (0,), None, Limits())
    key = CacheKey(
        "L", "PLAINTEXT", "h", False, Principal("User", "a"), False, connection().client.client
    )
    entries = cache.entries_of(key)

    cache.put(entries, b"12345", CacheEntry(b"", b"1234567", (18, 0), SideEffects((0,), 0, 0, ())))

    assert cache.size == 12


def test_states_are_compared_by_identity() -> None:
    """A state that is equal, but another object, is another version: nothing compares contents."""

    class SessionState:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared by value")

        __hash__ = None  # type: ignore[assignment]

    world = World()
    world.version = (SessionState(), True)
    client = world.client()
    ask(client, versions())
    ask(client, versions())
    assert world.cache.hits == 1

    world.version = (SessionState(), True)
    ask(client, versions())

    assert (world.handled, world.cache.hits) == (2, 1)


def test_a_request_that_fails_leaves_nothing_recorded() -> None:
    """Decisions of later requests are not collected for it."""
    world = World()
    client = world.client()

    ask(client, describe("fail"))

    assert world.recorded is None
    assert world.cache.size == 0
