"""What a connection's socket owes the audit trail: changes wait for it, logins are told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.net.spec import IN_CLEAR, Offers
from doorkeeper.node import CreateAcls
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import (
    LOGIN,
    HandAuthorizer,
    answer,
    authenticate,
    create,
    describe,
    done,
    handshake,
    plain,
    until,
)
from testkit.shells import World

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


class Recorded(World):
    """One connection, its trail and its authorizer, whose futures the test completes."""

    def __init__(self, *, offers: Offers = IN_CLEAR, at_once: bool = False) -> None:
        self.trail = HandTrail()
        self.futures: list[asyncio.Future[AclCreateResult]] = []
        self.asked = 0

        def created(bindings: Sequence[Any]) -> Any:
            self.asked += 1
            if at_once:
                return [done(OK) for _ in bindings]
            self.futures = [asyncio.get_running_loop().create_future() for _ in bindings]
            return self.futures

        super().__init__(authorizer=HandAuthorizer(created), offers=offers, trail=self.trail)
        self.shell, self.pipe = self.connect()


async def test_an_answer_waits_for_the_trail() -> None:
    """A change is answered when the trail has it, and what comes behind it after that."""
    w = Recorded()

    w.shell.data_received(create(["x"], 1) + describe("behind", 2))
    w.futures[0].set_result(OK)
    await until(lambda: bool(w.trail.waiting))

    assert w.trail.told == [(CreateAcls, [OK])]
    assert w.pipe.answers() == []
    assert len(w.around.updates) == 1
    w.trail.is_recorded = True
    w.trail.waiting[0](None)
    first, second = w.pipe.answers()
    assert answer(first, CreateAclsResponse, 3)[0] == 1
    assert answer(second, DescribeAclsResponse, 3)[0] == 2
    assert len(w.around.updates) == 0


async def test_what_is_complete_at_once_waits_too() -> None:
    """Answers stay in order where the authorizer needs no time, but the trail does."""
    w = Recorded(at_once=True)

    w.shell.data_received(describe("before", 1) + create(["x"], 2) + describe("behind", 3))

    assert [answer(each, DescribeAclsResponse, 3)[0] for each in w.pipe.answers()] == [1]
    w.trail.is_recorded = True
    w.trail.waiting[0](None)
    assert [int.from_bytes(each[:4]) for each in w.pipe.answers()] == [1, 2, 3]
    assert len(w.trail.told) == 1


async def test_a_change_that_could_not_be_recorded() -> None:
    """The client reads that it was made and not recorded."""
    w = Recorded(at_once=True)
    w.shell.data_received(create(["x"], 1))

    w.trail.waiting[0](ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "made, not recorded"))

    (frame,) = w.pipe.answers()
    (result,) = answer(frame, CreateAclsResponse, 3)[1].results
    assert (result.error_code, result.error_message) == (56, "made, not recorded")


async def test_a_trail_that_cannot_be_written_refuses_changes() -> None:
    """The authorizer is not even asked; questions are answered."""
    w = Recorded()
    w.trail.refused = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "nothing was changed")

    w.shell.data_received(create(["x"], 1) + describe("a", 2))

    refused, described = w.pipe.answers()
    (result,) = answer(refused, CreateAclsResponse, 3)[1].results
    assert (result.error_code, result.error_message) == (56, "nothing was changed")
    assert answer(described, DescribeAclsResponse, 3)[1].error_code == 0
    assert w.asked == 0


async def test_who_leaves_is_recorded() -> None:
    """A change whose client has left is recorded as any other."""
    w = Recorded()
    w.shell.data_received(create(["x"]))
    w.shell.connection_lost(None)
    w.futures[0].set_result(OK)
    await until(lambda: bool(w.trail.waiting))

    w.trail.waiting[0](None)

    assert w.pipe.answers() == []
    assert w.trail.told == [(CreateAcls, [OK])]
    assert len(w.around.updates) == 0


async def test_logins_are_told() -> None:
    """A login and its failure are told, with what the client proved or why not."""
    w = Recorded(offers=LOGIN)
    w.shell.data_received(handshake() + authenticate(plain(), correlation_id=5))
    failed = Recorded(offers=LOGIN)
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
    assert Recorded().trail.logins == []
