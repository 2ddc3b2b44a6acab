"""What a connection's socket owes the audit trail: changes wait for it, logins are told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.authorizer.guard import GuardedAuthorizer
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.limits import Limits
from doorkeeper.net.ledger import Ledger
from doorkeeper.net.shell import Shell, Surroundings
from doorkeeper.net.spec import IN_CLEAR, Offers
from doorkeeper.net.strangers import Strangers
from doorkeeper.net.updates import UnderWay
from doorkeeper.node import CreateAcls
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import (
    LOGIN,
    Clock,
    HandAuthorizer,
    HandServices,
    Log,
    answer,
    authenticate,
    connection,
    create,
    describe,
    done,
    frames,
    handshake,
    plain,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.exchange import Login
    from doorkeeper.node import DeleteAcls, RequestContext

OK = AclCreateResult()


class HandTrail:
    """Has nothing until the test says so."""

    def __init__(self) -> None:
        self.is_recorded = True
        self.waiting: list[Callable[[ApiError | None], None]] = []
        self.refused: ApiError | None = None
        self.told: list[tuple[object, Sequence[Any]]] = []
        self.logins: list[Login] = []

    def when_recorded(self, on_recorded: Callable[[ApiError | None], None]) -> None:
        self.waiting.append(on_recorded)

    def refusal(self) -> ApiError | None:
        return self.refused

    def updated(
        self, outcome: CreateAcls | DeleteAcls, results: Sequence[Any], asked: RequestContext
    ) -> None:
        self.told.append((outcome.__class__, results))
        self.is_recorded = False

    def logged_in(self, login: Login) -> None:
        self.logins.append(login)


class Pipe(asyncio.Transport):
    """Takes everything at once."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def close(self) -> None: ...


class World:
    """One connection, its trail and its authorizer, whose futures the test completes."""

    def __init__(self, *, offers: Offers = IN_CLEAR, at_once: bool = False) -> None:
        self.trail, self.pipe = HandTrail(), Pipe()
        self.futures: list[asyncio.Future[AclCreateResult]] = []
        self.asked = 0
        self.updates = UnderWay()

        def created(bindings: Sequence[Any]) -> Any:
            self.asked += 1
            if at_once:
                return [done(OK) for _ in bindings]
            self.futures = [asyncio.get_running_loop().create_future() for _ in bindings]
            return self.futures

        around = Surroundings(
            asyncio.get_running_loop(),
            Clock(),
            Limits(),
            GuardedAuthorizer(HandAuthorizer(created)),
            HandServices(),
            Log(),
            Ledger(1 << 20),
            Ledger(1 << 20),
            self.updates,
            lambda _: None,
            Strangers(asyncio.get_running_loop(), 1.0),
            trail=self.trail,
        )
        self.shell = Shell(connection(offers, Limits(), established=False), around)
        self.shell.connection_made(self.pipe)

    def answers(self) -> list[bytes]:
        return frames(self.pipe.written)


async def test_an_answer_waits_for_the_trail() -> None:
    """A change is answered when the trail has it, and what comes behind it after that."""
    w = World()

    w.shell.data_received(create(["x"], 1) + describe("behind", 2))
    w.futures[0].set_result(OK)
    await asyncio.sleep(0.01)

    assert w.trail.told == [(CreateAcls, [OK])]
    assert w.answers() == []
    assert len(w.updates) == 1
    w.trail.is_recorded = True
    w.trail.waiting[0](None)
    first, second = w.answers()
    assert answer(first, CreateAclsResponse, 3)[0] == 1
    assert answer(second, DescribeAclsResponse, 3)[0] == 2
    assert len(w.updates) == 0


async def test_what_is_complete_at_once_waits_too() -> None:
    """Answers stay in order where the authorizer needs no time, but the trail does."""
    w = World(at_once=True)

    w.shell.data_received(describe("before", 1) + create(["x"], 2) + describe("behind", 3))

    assert [answer(each, DescribeAclsResponse, 3)[0] for each in w.answers()] == [1]
    w.trail.is_recorded = True
    w.trail.waiting[0](None)
    assert [int.from_bytes(each[:4]) for each in w.answers()] == [1, 2, 3]
    assert len(w.trail.told) == 1


async def test_a_change_that_could_not_be_recorded() -> None:
    """The client reads that it was made and not recorded."""
    w = World(at_once=True)
    w.shell.data_received(create(["x"], 1))

    w.trail.waiting[0](ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "made, not recorded"))

    (frame,) = w.answers()
    (result,) = answer(frame, CreateAclsResponse, 3)[1].results
    assert (result.error_code, result.error_message) == (56, "made, not recorded")


async def test_a_trail_that_cannot_be_written_refuses_changes() -> None:
    """The authorizer is not even asked; questions are answered."""
    w = World()
    w.trail.refused = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "nothing was changed")

    w.shell.data_received(create(["x"], 1) + describe("a", 2))

    refused, described = w.answers()
    (result,) = answer(refused, CreateAclsResponse, 3)[1].results
    assert (result.error_code, result.error_message) == (56, "nothing was changed")
    assert answer(described, DescribeAclsResponse, 3)[1].error_code == 0
    assert w.asked == 0


async def test_who_leaves_is_recorded() -> None:
    """A change whose client has left is recorded as any other."""
    w = World()
    w.shell.data_received(create(["x"]))
    w.shell.connection_lost(None)
    w.futures[0].set_result(OK)
    await asyncio.sleep(0.01)

    w.trail.waiting[0](None)

    assert w.answers() == []
    assert w.trail.told == [(CreateAcls, [OK])]
    assert len(w.updates) == 0


async def test_logins_are_told() -> None:
    """A login and its failure are told, with what the client proved or why not."""
    w = World(offers=LOGIN)
    w.shell.data_received(handshake() + authenticate(plain(), correlation_id=5))
    failed = World(offers=LOGIN)
    failed.shell.data_received(handshake() + authenticate(plain(password="wrong")))
    await until(lambda: bool(w.trail.logins and failed.trail.logins))

    (login,) = w.trail.logins
    assert str(login.principal) == "User:alice"
    assert (login.mechanism, login.reason, login.reauthentication) == ("PLAIN", None, False)
    assert login.header is not None
    assert (login.header.api_key, login.header.correlation_id) == (36, 5)
    (failure,) = failed.trail.logins
    assert failure.principal is None
    assert failure.reason
    assert "wrong" not in failure.reason


async def test_in_clear_nobody_logs_in() -> None:
    """Without a certificate and without SASL there is nothing to tell."""
    assert World().trail.logins == []
