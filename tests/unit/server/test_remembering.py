"""What is kept of answers, for whom, and when it is forgotten."""

from __future__ import annotations

from typing import Any, cast

import pytest

from doorkeeper.acl.model import Principal
from doorkeeper.authorizer.guard import Told
from doorkeeper.connection import Connection
from doorkeeper.exchange import Closed, Counts, Lengthy
from doorkeeper.limits import Limits
from doorkeeper.net.spec import IN_CLEAR
from doorkeeper.pieces import finished
from doorkeeper.remembering import AnswerMemory, Asker, Remembered, Truth
from doorkeeper.session import State
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import answer, connection, create, describe, versions
from testkit.edge_apis import APIS, EdgeNode

PEER = connection().peer


class World:
    """What answers are made from, and how often one was."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.truth: Truth | None = ("one",)
        self.allowed = self.denied = self.traces = 0
        self.handled = 0
        self.counts = Counts()
        self.memory = AnswerMemory(lambda _: self.truth, self, limits or Limits())
        self.trace = False
        self.told: list[Any] | None = None
        self.again: list[tuple[object, int]] = []
        self.kept: list[Told] = []
        self.told_again = self._told_again

    def _told_again(self, told: Told, correlation_id: bytes) -> None:
        self.again.append((told.context, int.from_bytes(correlation_id, signed=True)))

    def client(self) -> Connection:
        """Return a connection of the one asker."""

        def api(key: int) -> Any:
            found = APIS[key]

            def handle(*arguments: Any) -> Any:
                self.handled += 1
                self.allowed += 2
                self.denied += 1
                self.traces += self.trace
                if self.told is not None:
                    context: Any = f"decision {self.handled}"
                    self.kept.append(Told((context, [], [])))
                    self.told.append(self.kept[-1])
                return found.handle(*arguments)

            return found._replace(handle=handle)

        made = Connection(
            PEER,
            node=cast("Any", EdgeNode()),
            apis=api,
            mechanisms=None,
            builder=IN_CLEAR.builder,
            limits=Limits(),
            counts=self.counts,
            memory=self.memory,
        )
        assert made.established() is None
        return made


def ask(client: Connection, frame: bytes) -> bytes:
    client.receive(frame)
    made = client.advance(0)
    assert isinstance(made, bytes)
    return made


def test_a_second_answer_differs_in_its_correlation_id_only() -> None:
    """And nobody is asked for it."""
    world = World()
    client = world.client()

    first = ask(client, versions(correlation_id=5))
    again = ask(client, versions(correlation_id=-6))

    assert world.handled == 1
    assert answer(first[4:], ApiVersionsResponse, 3)[0] == 5
    assert answer(again[4:], ApiVersionsResponse, 3)[0] == -6
    assert first[:4] + first[8:] == again[:4] + again[8:]


def test_only_one_whole_request_is_answered_at_once() -> None:
    """Behind what waits, in pieces, with another one, or never asked before, it is received."""
    world = World()
    client = world.client()
    assert client.again(versions(), 0) is None
    asked = ask(client, versions(correlation_id=1))

    again = client.again(versions(correlation_id=2), 0)
    assert again == asked[:4] + (2).to_bytes(4) + asked[8:]
    assert client.is_empty
    assert client.again(versions()[:-1], 0) is None
    assert client.again(versions() * 2, 0) is None
    client.receive(versions()[:3])
    assert client.again(versions(), 0) is None
    client.receive(versions()[3:])
    assert client.again(versions(), 0) is None
    client.answers = []
    client.advance(0)
    assert client.again(versions(), 0) is None


@pytest.mark.parametrize("size", [0, 1, 255])
def test_the_size_is_part_of_the_question(size: int) -> None:
    """Bytes whose size says less, or that more is to come, are no request that came before."""
    client = World().client()
    frame = versions()
    ask(client, frame)

    assert client.again(size.to_bytes(4) + frame[4:], 0) is None
    assert client.again(frame, 0) is not None


@pytest.mark.parametrize("first", range(1, len(versions())))
def test_what_is_in_pieces_is_not_answered_at_once(first: int) -> None:
    """Also where the first piece is the size alone, of which nothing is held."""
    client = World().client()
    frame = versions()
    asked = ask(client, frame)

    client.receive(frame[:first])
    assert client.again(frame, 0) is None
    client.receive(frame[first:])

    assert client.advance(0) == asked


def test_what_comes_in_a_row_is_answered_in_a_row() -> None:
    """Up to the first that is not known; what is left waits where it was."""
    world = World()
    client = world.client()
    asked = ask(client, versions(correlation_id=1))

    client.receive(b"".join(versions(correlation_id=each) for each in (2, 3)) + describe("new", 4))

    made = client.repeats(0, 10, 10_000)
    assert made == [asked[:4] + each.to_bytes(4) + asked[8:] for each in (2, 3)]
    assert client.buffered == len(describe("new", 4)) - 4
    assert world.handled == 1
    assert world.counts.requests == 3
    assert client.answered == [(18, 0)] * 3
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

    assert len(client.repeats(0, answers_max, bytes_max)) == made
    assert client.buffered == (4 - made) * (len(versions()) - 4)


def test_no_row_is_longer_than_the_truth() -> None:
    """Nor does one begin while answers are told, or for a request that is too long to be kept."""
    limits = Limits(request_kept_bytes_max=len(versions()) - 4)
    world = World(limits)
    client = world.client()
    ask(client, versions())

    long = describe("a name that makes the whole request longer than the other one")
    assert len(long) > len(versions())
    ask(client, long)
    client.receive(long * 2)
    assert client.repeats(0, 2, 10_000) == []
    client.advance(0)
    client.advance(0)
    client.receive(versions() * 3)
    client.answers = []
    assert client.repeats(0, 2, 10_000) == []
    client.answers = None
    world.truth = ("two",)
    assert client.repeats(0, 2, 10_000) == []
    assert world.memory.repeated == 0


def test_nothing_is_answered_again_when_the_session_is_over() -> None:
    """Until then it is; a request behind that is handled as any other, which closes."""
    client = World().client()
    ask(client, versions())
    client.session._enter(State.LIMITED)
    client.session.expires_s = 5.0

    assert client.again(versions(), 4.9) is not None
    assert client.again(versions(), 5.0) is None
    client.receive(versions() * 2)
    assert client.repeats(5.0, 2, 10_000) == []
    assert isinstance(client.advance(5.0), Closed)


def test_behind_a_fault_nothing_is_answered() -> None:
    """Neither while it waits to be told nor when the connection has ended."""
    client = World().client()
    ask(client, versions())
    client.receive(b"\xff\xff\xff\xff")

    assert client.again(versions(), 0) is None
    client.advance(0)
    assert client.again(versions(), 0) is None


def test_a_second_answer_counts_as_the_first() -> None:
    """Requests, decisions, and which error was answered."""
    world = World()
    client = world.client()
    ask(client, versions())

    ask(client, versions())

    assert world.counts.requests == 2
    assert (world.allowed, world.denied) == (4, 2)
    assert client.answered == [(18, 0)] * 2
    assert world.memory.repeated == 1


def test_decisions_are_told_again() -> None:
    """Those of the answer that is given again, under the correlation id of the new request; what
    is told of requests that are not kept is not held."""
    world = World()
    client = world.client()
    ask(client, describe("a"))
    ask(client, describe("b"))

    ask(client, describe("b", -7))
    ask(client, describe("a", 8))

    assert world.again == [("decision 2", -7), ("decision 1", 8)]
    client.receive(create(["x"]))
    client.advance(0)
    assert world.told is None


def test_decisions_that_are_counted_are_counted_on() -> None:
    """Whoever is told is not called for each: the count, the time and the frame are left there."""
    world = World()
    client = world.client()
    ask(client, describe("a"))
    ask(client, describe("a", 1))
    (told,) = world.kept
    told.count = 1

    ask(client, describe("a", -7))
    assert client.again(describe("a", 8), 12) is not None

    assert world.again == [("decision 1", 1)]
    assert told.count == 3
    assert told.last_s == 12
    assert told.last_correlation_id == (8).to_bytes(4)


def test_an_answer_made_in_pieces_is_remembered() -> None:
    """With the decisions of its own request: those of others, made meanwhile, are theirs."""
    world = World()
    client, other = world.client(), world.client()
    client.receive(describe("pieces:1000"))
    lengthy = client.advance(0)
    assert isinstance(lengthy, Lengthy)
    next(lengthy.body)
    ask(other, describe("a"))

    made = client.lengthened(lengthy, finished(lengthy.body))
    world.allowed = world.denied = 0
    again = ask(client, describe("pieces:1000", 2))

    assert isinstance(made, bytes)
    assert made[8:] == again[8:]
    assert len(answer(again[4:], DescribeAclsResponse, 3)[1].resources) == 1000
    assert world.memory.repeated == 1
    assert (world.allowed, world.denied) == (2, 1)
    assert world.again == [("decision 1", 2)]


def test_an_answer_that_is_no_longer_true_when_it_is_made_is_not_kept() -> None:
    """It was true when it was asked for, and is given once."""
    world = World()
    client = world.client()
    client.receive(describe("pieces:1000"))
    lengthy = client.advance(0)
    assert isinstance(lengthy, Lengthy)
    next(lengthy.body)

    world.truth = ("two",)
    client.lengthened(lengthy, finished(lengthy.body))

    assert world.memory.held == 0


def test_where_answers_are_told_they_are_made_anew() -> None:
    """The log of requests tells of each answer, with all of its errors."""
    world = World()
    client = world.client()
    ask(client, describe("a"))
    client.answers = []

    ask(client, describe("a", 2))

    assert world.handled == 2
    assert [each.header.correlation_id for each in client.answers] == [2]


def test_what_was_kept_is_for_all_connections_of_its_asker() -> None:
    """The second connection's software is known once it has said it."""
    world = World()
    first, second = world.client(), world.client()
    ask(first, describe("a"))

    ask(second, describe("a"))

    assert world.handled == 1


@pytest.mark.parametrize("other", [("two",), None])
def test_another_truth_forgets(other: Truth | None) -> None:
    """Also one that nobody knows, in which nothing is kept either."""
    world = World()
    client = world.client()
    ask(client, versions())

    world.truth = other
    ask(client, versions())

    assert world.handled == 2
    assert world.memory.repeated == 0
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


def test_trailing_bytes_are_counted_each_time() -> None:
    """A request with them is not kept."""
    world = World()
    client = world.client()
    frame = versions() + b"!!"
    frame = (len(frame) - 4).to_bytes(4) + frame[4:]

    ask(client, frame)
    ask(client, frame)

    assert world.counts.trailing_bytes == 4
    assert world.memory.repeated == 0


def test_other_bytes_are_another_request() -> None:
    """The client's id is part of them."""
    world = World()
    client = world.client()

    ask(client, versions())
    ask(client, versions(software="other"))
    ask(client, versions(version=2))

    assert world.handled == 3


def test_too_much_makes_it_forget_everything() -> None:
    """What is asked again comes back."""
    world = World(Limits(answers_kept_bytes_max=2_000))
    client = world.client()

    for number in range(200):
        ask(client, describe(f"name-{number}"))
        assert world.memory.held <= 2_000
    ask(client, describe("name-199"))

    assert world.handled == 200
    assert world.memory.held > 0


def test_connections_that_leave_take_their_answers_with_them() -> None:
    """Nothing is held for who is gone."""
    world = World()
    client = world.client()
    ask(client, versions())
    assert world.memory.held > 0

    del client

    assert world.memory.held == 0


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        (Limits(answer_kept_bytes_max=10), 0),
        (Limits(request_kept_bytes_max=10), 0),
        (Limits(), 1),
    ],
)
def test_long_requests_and_answers_are_not_kept(limits: Limits, kept: int) -> None:
    """One of them would push out many."""
    world = World(limits)
    client = world.client()

    ask(client, versions())
    ask(client, versions())

    assert world.memory.repeated == kept


def test_shelves_of_different_askers_are_apart() -> None:
    """Each field of an asker counts."""
    memory = AnswerMemory(lambda _: (), None, Limits())
    asker = Asker(
        "L", "PLAINTEXT", "h", False, Principal("User", "a"), False, connection()._client.client
    )
    others: list[Any] = ["M", "SSL", "i", True, Principal("User", "b"), True, ("x", "1")]
    kept = memory.shelf(asker)

    for name, value in zip(Asker._fields, others, strict=True):
        other = memory.shelf(asker._replace(**{name: value}))
        assert other is not kept, name

    assert memory.shelf(asker) is kept


def test_what_is_held_is_counted_with_its_request() -> None:
    """Both stay in memory."""
    memory = AnswerMemory(lambda _: (), None, Limits())
    asker = Asker(
        "L", "PLAINTEXT", "h", False, Principal("User", "a"), False, connection()._client.client
    )
    shelf = memory.shelf(asker)

    kept = Remembered(api_key=18, size=b"", body=b"1234567", answered=(18, 0), allowed=0, denied=0)
    memory.keep(shelf, b"12345", kept)

    assert memory.held == 12
