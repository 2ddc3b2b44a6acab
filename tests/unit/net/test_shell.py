"""The socket's side of a connection, with a transport that does what the test says."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import pytest

from doorkeeper.authn.contract import (
    AuthenticationContext,
    Challenge,
    OfferedMechanism,
    Step,
    Success,
)
from doorkeeper.authn.principals import DefaultPrincipalBuilder
from doorkeeper.authorizer.contract import AclCreateResult, Authorizer
from doorkeeper.authorizer.guard import GuardedAuthorizer
from doorkeeper.limits import Limits
from doorkeeper.net.ledger import Ledger
from doorkeeper.net.shell import STRANGER_BYTES, Shell, Surroundings
from doorkeeper.net.spec import IN_CLEAR, Offers
from doorkeeper.net.strangers import Strangers
from doorkeeper.net.updates import UnderWay
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from testkit.edge import (
    LOGIN,
    Clock,
    HandAuthorizer,
    HandServices,
    Log,
    answer,
    authenticate,
    bare,
    connection,
    create,
    describe,
    done,
    frames,
    handshake,
    plain,
    request,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acl.model import AclBinding, Principal


class Transport(asyncio.Transport):
    """Keeps what is written; full while ``stuck``."""

    def __init__(self) -> None:
        super().__init__()
        self.shell: Shell | None = None
        self.writes: list[bytes] = []
        self.stuck = False
        self.reading = True
        self.closing = False
        self.aborted = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == 0

    def get_write_buffer_size(self) -> int:
        return len(self.writes[-1]) if self.stuck else 0

    def write(self, data: Any) -> None:
        assert not self.closing
        self.writes.append(bytes(data))
        if self.stuck and self.shell is not None:
            self.shell.pause_writing()

    def is_reading(self) -> bool:
        return self.reading

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = self.aborted = True

    def names(self, first: int = 0) -> list[str]:
        """Return the names that DescribeAcls answered, from a write on."""
        return [
            answer(frame, DescribeAclsResponse, 3)[1].error_message
            for frame in frames(b"".join(self.writes[first:]))
        ]


class World:
    """One or more shells, and all that they share."""

    def __init__(
        self,
        limits: Limits | None = None,
        authorizer: Authorizer | None = None,
        offers: Offers = IN_CLEAR,
    ) -> None:
        self.log, self.services, self.clock = Log(), HandServices(), Clock()
        self.lost: list[Shell] = []
        self.limits, self.offers = limits or Limits(), offers
        self.strangers = Strangers(asyncio.get_running_loop(), 1.0)
        self.around = Surroundings(
            asyncio.get_running_loop(),
            self.clock,
            self.limits,
            None if authorizer is None else GuardedAuthorizer(authorizer),
            self.services,
            self.log,
            Ledger(self.limits.queued_in_bytes_max),
            Ledger(self.limits.queued_out_bytes_max),
            UnderWay(),
            self.lost.append,
            self.strangers,
        )

    async def turns(self) -> None:
        """Let strangers have their turns until none waits."""
        await until(lambda: not self.strangers.waiting)

    def connect(self) -> tuple[Shell, Transport]:
        """Return a shell that is connected."""
        shell, transport = (
            Shell(connection(self.offers, self.limits, established=False), self.around),
            Transport(),
        )
        transport.shell = shell
        shell.connection_made(transport)
        return shell, transport


async def test_one_read_is_answered_in_one_write() -> None:
    """Pipelined requests of one read leave together, before ``data_received`` returns."""
    shell, transport = World().connect()

    shell.data_received(describe("a") + describe("b") + describe("c")[:9])

    assert len(transport.writes) == 1
    assert transport.names() == ["a", "b"]
    assert transport.is_reading()


async def test_a_turn_ends_after_some_frames() -> None:
    """Others have their turn; meanwhile nothing is read; all is answered in the end."""
    shell, transport = World(Limits(frames_per_turn=2)).connect()

    shell.data_received(b"".join(describe(str(number)) for number in range(5)))

    assert transport.names() == ["0", "1"]
    assert not transport.is_reading()
    await asyncio.sleep(0)
    assert transport.names() == ["0", "1", "2", "3"]
    await until(transport.is_reading)
    assert transport.names() == ["0", "1", "2", "3", "4"]


async def test_a_turn_ends_after_some_bytes() -> None:
    """Long answers end the turn too."""
    shell, transport = World(Limits(out_bytes_per_turn=100)).connect()

    shell.data_received(describe("x" * 200) + describe("b"))

    assert len(transport.names()) == 1
    await until(transport.is_reading)
    assert transport.names()[1] == "b"


async def test_nothing_is_answered_while_the_peer_does_not_read() -> None:
    """A full write buffer stops reading and handling; when it has left, both go on."""
    world = World()
    shell, transport = world.connect()
    transport.stuck = True

    shell.data_received(describe("a"))
    assert not transport.is_reading()
    assert world.around.outgoing.total == len(transport.writes[0])
    shell.data_received(describe("b"))
    assert transport.names() == ["a"]
    transport.stuck = False
    shell.resume_writing()

    assert transport.names() == ["a", "b"]
    assert transport.is_reading()
    assert world.around.outgoing.total == 0


async def test_the_largest_holder_of_answers_goes() -> None:
    """When peers leave too much untaken, the one that holds most is cut off, with one line."""
    world = World(Limits(queued_out_bytes_max=1000))
    (small, small_pipe), (large, large_pipe) = world.connect(), world.connect()
    small_pipe.stuck = large_pipe.stuck = True

    large.data_received(describe("x" * 800))
    assert not large_pipe.aborted
    small.data_received(describe("x" * 300))

    assert (small_pipe.aborted, large_pipe.aborted) == (False, True)
    assert world.log.one("too many bytes held: closing the connection that holds most")
    assert world.around.outgoing.total < 1000


async def test_the_largest_holder_of_requests_goes() -> None:
    """When half-sent frames add up to too much, the connection with most is cut off."""
    world = World(Limits(queued_in_bytes_max=1000))
    (small, small_pipe), (large, large_pipe) = world.connect(), world.connect()

    large.data_received((5000).to_bytes(4) + bytes(800))
    small.data_received((5000).to_bytes(4) + bytes(300))
    small.data_received(bytes(100))

    assert (small_pipe.aborted, large_pipe.aborted) == (False, True)
    assert world.around.incoming.total < 1000


async def test_complete_updates_are_answered_inline() -> None:
    """An authorizer whose awaitables are complete is answered before ``data_received`` returns."""
    authorizer = HandAuthorizer(lambda bindings: [done(AclCreateResult()) for _ in bindings])
    shell, transport = World(authorizer=authorizer).connect()

    shell.data_received(create(["a", "b"]))

    (frame,) = frames(b"".join(transport.writes))
    assert len(answer(frame, CreateAclsResponse, 3)[1].results) == 2
    ((context, bindings),) = authorizer.asked
    assert context.client_address == "127.0.0.1"
    assert [binding.pattern.name for binding in bindings] == ["a", "b"]


async def test_an_update_holds_what_is_behind_it() -> None:
    """Later requests wait, unread ones stay unread; then all are answered in order."""
    futures: list[asyncio.Future[AclCreateResult]] = []

    def created(bindings: Sequence[AclBinding]) -> Sequence[asyncio.Future[AclCreateResult]]:
        futures.extend(asyncio.get_running_loop().create_future() for _ in bindings)
        return futures

    world = World(authorizer=HandAuthorizer(created))
    shell, transport = world.connect()

    shell.data_received(describe("a", 1) + create(["x"], 2) + describe("b", 3))
    assert (len(transport.writes), transport.is_reading()) == (1, False)
    assert len(world.around.updates) == 1
    futures[0].set_result(AclCreateResult())
    await until(transport.is_reading)

    ids = [int.from_bytes(frame[:4]) for frame in frames(b"".join(transport.writes))]
    assert ids == [1, 2, 3]
    assert len(world.around.updates) == 0


async def test_a_client_that_leaves_during_an_update_leaves_nothing() -> None:
    """The update goes on without an answer, and nothing of the connection is kept."""
    pending: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    world = World(authorizer=HandAuthorizer(lambda bindings: [pending]))
    shell, transport = world.connect()
    shell.data_received(create(["x"]) + describe("a"))

    shell.connection_lost(None)
    assert len(world.around.updates) == 1
    pending.set_exception(RuntimeError("nobody asks"))
    await until(lambda: not world.around.updates)

    assert transport.writes == []
    assert world.lost == [shell]
    assert (world.around.incoming.total, world.around.outgoing.total) == (0, 0)


async def test_items_that_fail_are_told() -> None:
    """The client gets -1 for the item, the log gets the exception once."""
    boom = RuntimeError("boom")

    def created(bindings: Sequence[AclBinding]) -> Sequence[asyncio.Future[AclCreateResult]]:
        broken: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
        broken.set_exception(boom)
        return [broken, done(AclCreateResult())]

    world = World(authorizer=HandAuthorizer(created))
    shell, transport = world.connect()

    shell.data_received(create(["a", "b"]))

    (frame,) = frames(b"".join(transport.writes))
    rows = answer(frame, CreateAclsResponse, 3)[1].results
    assert [row.error_code for row in rows] == [-1, 0]
    line = world.log.one("items of an update failed")
    assert (line.level, line.fields["failed"], line.fields["items"]) == ("error", 1, 2)
    assert line.fields["exc_info"] is boom
    assert line.fields["authorizer"] == "testkit.edge.HandAuthorizer"
    assert (line.fields["api"], line.fields["correlation_id"]) == ("CreateAcls", 1)


@pytest.mark.parametrize("awaitables", [0, 2])
async def test_an_authorizer_that_miscounts_is_refused(awaitables: int) -> None:
    """Too few or too many awaitables: every item -1, and a line."""
    authorizer = HandAuthorizer(lambda bindings: [done(AclCreateResult())] * awaitables)
    world = World(authorizer=authorizer)
    shell, transport = world.connect()

    shell.data_received(create(["a"]))

    (frame,) = frames(b"".join(transport.writes))
    assert [row.error_code for row in answer(frame, CreateAclsResponse, 3)[1].results] == [-1]
    line = world.log.one("a request failed")
    assert (line.level, line.fields["correlation_id"]) == ("error", 1)
    assert line.fields["authorizer"] == "testkit.edge.HandAuthorizer"


async def test_without_an_authorizer_updates_are_refused() -> None:
    """Error 54, should a handler ask for one all the same."""
    shell, transport = World().connect()

    shell.data_received(create(["a"]))

    (frame,) = frames(b"".join(transport.writes))
    assert [row.error_code for row in answer(frame, CreateAclsResponse, 3)[1].results] == [54]


async def test_changes_of_topics_are_waited_for() -> None:
    """The services' results make the answer; their failure is -1 for each name."""
    for result in ([None, None], RuntimeError("boom")):
        world = World()
        shell, transport = world.connect()
        message = DeleteTopicsRequest(topic_names=("a", "b"), timeout_ms=9)
        shell.data_received(request(message, 5))
        ((change, future),) = world.services.changes
        assert change.deleted == ("a", "b")
        assert transport.writes == []

        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
        await until(lambda seen=transport: bool(seen.writes))  # type: ignore[misc]

        (frame,) = frames(b"".join(transport.writes))
        codes = [row.error_code for row in answer(frame, DeleteTopicsResponse, 5)[1].responses]
        assert codes == ([0, 0] if isinstance(result, list) else [-1, -1])


async def test_a_change_that_is_not_waited_for_is_answered_at_once() -> None:
    """``wait=False`` answers now; should the change fail later, the log says so."""
    world = World()
    shell, transport = world.connect()

    shell.data_received(request(DeleteTopicsRequest(topic_names=("a",), timeout_ms=0), 5))

    (frame,) = frames(b"".join(transport.writes))
    assert answer(frame, DeleteTopicsResponse, 5)[1].responses == ()
    assert transport.is_reading()
    world.services.changes[0][1].set_exception(RuntimeError("boom"))
    await until(lambda: not world.around.updates)
    assert world.log.one("items of an update failed")


async def test_a_failed_login_is_answered_after_the_delay() -> None:
    """Nothing is written and nothing read until then; then the answer, then the end."""
    world = World(Limits(failed_authentication_delay_ms=20), offers=LOGIN)
    shell, transport = world.connect()
    began_s = asyncio.get_running_loop().time()

    shell.data_received(handshake("NONSENSE") + handshake())
    await world.turns()

    assert (transport.writes, transport.closing, transport.is_reading()) == ([], False, False)
    await until(lambda: transport.closing)
    assert asyncio.get_running_loop().time() - began_s >= 0.02
    assert len(frames(b"".join(transport.writes))) == 1
    line = world.log.one("failed authentication")
    assert line.fields["reason"] == "Unsupported SASL mechanism NONSENSE"


async def test_the_reason_of_a_failed_login_is_told_in_a_bounded_line() -> None:
    """A stranger chooses the name of the mechanism: it fills no disk."""
    world = World(Limits(failed_authentication_delay_ms=0), offers=LOGIN)
    shell, _ = world.connect()

    shell.data_received(handshake("N" * 30_000))
    await world.turns()

    reason = world.log.one("failed authentication").fields["reason"]
    assert reason == f"Unsupported SASL mechanism {'N' * 473}... (30027 characters)"


async def test_a_bad_request_ends_it_with_one_line() -> None:
    """What came before is answered; the line names the connection and the reason."""
    world = World()
    shell, transport = world.connect()

    shell.data_received(describe("a") + bare(b"") + describe("b"))

    assert transport.names() == ["a"]
    assert transport.closing
    line = world.log.one("closing connection")
    assert line.level == "warning"
    assert line.fields["connection"] == "127.0.0.1:9092-127.0.0.1:50000-0-7"
    assert line.fields["offset"] == 0


async def test_a_failing_handler_is_told() -> None:
    """The line has the connection, the API and the exception."""
    world = World()
    shell, _ = world.connect()

    shell.data_received(describe("fail", 42))

    line = world.log.one("a request failed")
    assert line.fields["correlation_id"] == 42
    assert isinstance(line.fields["exc_info"], RuntimeError)


async def test_half_closing_answers_what_came_before() -> None:
    """After the peer's end of file the rest is answered, then the connection ends."""
    shell, transport = World(Limits(frames_per_turn=1)).connect()
    shell.data_received(describe("a") + describe("b"))

    assert shell.eof_received()

    assert not transport.closing
    await until(lambda: transport.closing)
    assert transport.names() == ["a", "b"]


async def test_an_idle_connection_drains_at_once() -> None:
    """With nothing to answer draining is closing."""
    shell, transport = World().connect()

    shell.drain()

    assert transport.closing
    assert not transport.aborted


async def test_traffic_both_ways_is_activity() -> None:
    """Reading, and answers that leave, push the time of idleness away."""
    world = World()
    shell, transport = world.connect()
    world.clock.now_s = 1001.0
    transport.stuck = True
    shell.data_received(describe("a"))
    assert shell.last_active_s == 1001.0
    world.clock.now_s = 1002.0

    shell.resume_writing()

    assert shell.last_active_s == 1002.0


async def test_a_peer_that_takes_an_answer_slowly_is_not_idle() -> None:
    """It is active when it takes some of what waits for it, and idle when it takes nothing."""
    world = World()
    shell, transport = world.connect()
    transport.stuck = True
    shell.data_received(describe("a" * 1000))
    world.clock.now_s += 10
    deadline_s = world.clock.now_s - 1

    assert shell.idle_since(deadline_s)
    transport.writes[-1] = transport.writes[-1][:500]
    assert not shell.idle_since(deadline_s)
    assert world.around.outgoing.total == 500
    world.clock.now_s += 10

    assert shell.idle_since(deadline_s + 10)


async def test_no_password_is_logged() -> None:
    """A refused login leaves no trace of its password in the log."""
    world = World(offers=LOGIN)
    shell, _ = world.connect()

    shell.data_received(handshake(version=0) + bare(plain("alice", "hush")))
    await world.turns()

    assert "hush" not in repr(world.log.lines)
    assert world.log.one("failed authentication")
    cast("Any", shell)._delayed.cancel()


async def test_strangers_wait_behind_clients() -> None:
    """A frame of a login is taken in a turn of its own; who is in is answered at once."""
    world = World(offers=LOGIN)
    shell, transport = world.connect()

    shell.data_received(handshake() + authenticate(plain()) + describe("a") + describe("b"))
    at_once = len(transport.writes)
    await world.turns()
    await until(lambda: len(transport.writes) == 3)
    shell.data_received(describe("c"))

    assert at_once == 0
    assert [len(frames(each)) for each in transport.writes] == [1, 1, 2, 1]
    assert transport.names(2) == ["a", "b", "c"]
    assert world.strangers.clients_at_work


async def test_a_stranger_sends_little_ahead() -> None:
    """Reading stops when more than a little waits, and goes on when it has been taken."""
    world = World(offers=LOGIN)
    shell, transport = world.connect()

    shell.data_received(handshake())
    little = transport.is_reading()
    shell.data_received(bare(b"x" * STRANGER_BYTES))
    much = transport.is_reading()
    shell.connection_lost(None)
    await world.turns()

    assert (little, much) == (True, False)
    assert transport.writes == []


async def test_refusals_take_turns() -> None:
    """The delays of many are over in one moment; each refusal has a turn of the loop."""
    world = World(Limits(failed_authentication_delay_ms=0), offers=LOGIN)
    connected = [world.connect() for _ in range(20)]
    for shell, _ in connected:
        shell.data_received(handshake("NONSENSE"))
    ended: list[int] = []

    while not ended or ended[-1] < len(connected):
        await asyncio.sleep(0)
        ended.append(sum(transport.closing for _, transport in connected))

    steps = {after - before for before, after in pairwise(ended)}
    assert steps <= {0, 1}


class Slow:
    """Knows what comes of a token when the test says so."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.steps: list[asyncio.Future[Step]] = []

    def step(self, token: bytes) -> asyncio.Future[Step]:
        """Promise a step."""
        self.asked.append(token)
        self.steps.append(asyncio.get_running_loop().create_future())
        return self.steps[-1]


def slow_world(limits: Limits | None = None) -> tuple[Slow, World]:
    slow = Slow()
    offered = OfferedMechanism("PLAIN", lambda _context: slow, 0)
    offers = Offers({"PLAIN": offered}, DefaultPrincipalBuilder())
    return slow, World(limits or Limits(failed_authentication_delay_ms=20), offers=offers)


async def test_a_login_that_takes_its_time_holds_its_connection() -> None:
    """Nothing is read and nothing answered behind it; then it all goes on, in order."""
    slow, world = slow_world()
    shell, transport = world.connect()

    shell.data_received(handshake() + authenticate(plain()) + authenticate(b"2") + describe("a"))
    await world.turns()
    written = len(transport.writes)
    assert not transport.is_reading()
    slow.steps[0].set_result(Challenge(b"more"))
    await until(lambda: len(slow.steps) == 2)
    slow.steps[1].set_result(Success("alice"))
    await until(transport.is_reading)

    assert written == 1
    assert slow.asked == [plain(), b"2"]
    assert len(frames(b"".join(transport.writes))) == 4


@pytest.mark.parametrize("outcome", [RuntimeError("hush"), asyncio.CancelledError()])
async def test_a_login_that_fails_in_itself_refuses(outcome: BaseException) -> None:
    """Whatever an awaitable raises, the client reads the general text after the delay."""
    slow, world = slow_world()
    shell, transport = world.connect()

    shell.data_received(handshake() + authenticate(plain()))
    await world.turns()
    if isinstance(outcome, asyncio.CancelledError):
        slow.steps[0].cancel()
    else:
        slow.steps[0].set_exception(outcome)
    await until(transport.is_closing)

    told = answer(frames(b"".join(transport.writes))[-1], SaslAuthenticateResponse, 2)[1]
    assert told.error_code == 58
    assert told.error_message == (
        "Authentication failed during authentication due to invalid credentials"
        " with SASL mechanism PLAIN"
    )
    assert "hush" not in str(world.log.lines)


async def test_who_leaves_during_a_login_is_forgotten() -> None:
    """The step is cancelled, and what comes of it moves nothing."""
    slow, world = slow_world()
    shell, transport = world.connect()
    shell.data_received(handshake() + authenticate(plain()))
    await world.turns()

    shell.connection_lost(None)
    await asyncio.sleep(0)

    assert slow.steps[0].cancelled()
    assert world.lost == [shell]
    assert len(transport.writes) == 1


class Nobody:
    """Makes no principal of anybody."""

    def build(self, context: AuthenticationContext) -> Principal:
        """Refuse."""
        raise RuntimeError(f"no {context.authorization_id} on {context.listener_name}")


async def test_without_a_principal_a_connection_ends() -> None:
    """In clear it ends at once; after SASL the success leaves, and the next request ends it."""
    world = World(offers=Offers(None, Nobody()))
    _, in_clear = world.connect()
    sasl = World(offers=LOGIN._replace(builder=Nobody()))
    shell, transport = sasl.connect()

    shell.data_received(handshake() + authenticate(plain()))
    await sasl.turns()
    let_in = answer(frames(b"".join(transport.writes))[-1], SaslAuthenticateResponse, 2)[1]
    open_still = not transport.is_closing()
    shell.data_received(describe("a"))
    await sasl.turns()

    assert in_clear.is_closing()
    assert (let_in.error_code, open_still, transport.is_closing()) == (0, True, True)
    for log in (world.log, sasl.log):
        assert "no principal could be made for a connection" in str(log.lines)
