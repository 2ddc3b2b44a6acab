"""What a connection's socket does while a change is under way, and until it is recorded."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.contract import AclCreateResult
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.options import UNAUTHENTICATED, ConnectionSecurity
from doorkeeper.server.net.request_log import DEBUG
from doorkeeper.server.net.updates import GRACE_S
from doorkeeper.server.operations.logs.levels import LoggerThreshold
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.channels import PendingAuthorizer, Transport, World
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
    request,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.net.protocol.exchange import Login


async def test_update_blocks_later_requests() -> None:
    authorizer = PendingAuthorizer()
    world = World(authorizer=authorizer)
    channel, transport = world.connect()

    channel.data_received(describe("a", 1) + create(["x"], 2) + describe("b", 3))
    assert (len(transport.writes), transport.is_reading()) == (1, False)
    assert len(world.context.updates) == 1
    await until(lambda: bool(authorizer.futures))
    authorizer.futures[0].set_result(AclCreateResult())
    await until(transport.is_reading)

    ids = [int.from_bytes(frame[:4]) for frame in transport.answers()]
    assert ids == [1, 2, 3]
    assert len(world.context.updates) == 0


async def test_disconnect_during_update_leaves_no_state() -> None:
    pending: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    world = World(authorizer=HandAuthorizer(lambda bindings: [pending]))
    channel, transport = world.connect()
    channel.data_received(create(["x"]) + describe("a"))

    channel.connection_lost(None)
    assert len(world.context.updates) == 1
    pending.set_exception(RuntimeError("expected: an operation that a request can have"))
    await until(lambda: not world.context.updates)

    assert transport.writes == []
    assert world.lost == [channel]
    assert (world.context.incoming.total, world.context.outgoing.total) == (0, 0)


async def test_failed_items_are_reported() -> None:
    """The client gets -1 for the item, the log gets the exception once."""
    boom = RuntimeError("boom")

    def created(bindings: Sequence[AclBinding]) -> Sequence[asyncio.Future[AclCreateResult]]:
        broken: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
        broken.set_exception(boom)
        return [broken, done(AclCreateResult())]

    world = World(authorizer=HandAuthorizer(created))
    channel, transport = world.connect()

    channel.data_received(create(["a", "b"]))
    await until(lambda: bool(transport.writes))

    (frame,) = transport.answers()
    rows = answer(frame, CreateAclsResponse, 3)[1].results
    assert [row.error_code for row in rows] == [-1, 0]
    line = world.log.one("items of a change failed")
    assert (line.level, line.fields["failed"], line.fields["items"]) == ("error", 1, 2)
    assert line.fields["exc_info"] is boom
    assert line.fields["authorizer"] == "testkit.edge.HandAuthorizer"
    assert (line.fields["api"], line.fields["correlation_id"]) == ("CreateAcls", 1)


@pytest.mark.parametrize("awaitables", [0, 2])
async def test_wrong_number_of_results_is_an_error(awaitables: int) -> None:
    """Too few or too many awaitables: every item -1, and a line."""
    authorizer = HandAuthorizer(lambda bindings: [done(AclCreateResult())] * awaitables)
    world = World(authorizer=authorizer)
    channel, transport = world.connect()

    channel.data_received(create(["a"]))
    await until(lambda: bool(transport.writes))

    (frame,) = transport.answers()
    assert [row.error_code for row in answer(frame, CreateAclsResponse, 3)[1].results] == [-1]
    line = world.log.one("a request failed")
    assert (line.level, line.fields["correlation_id"]) == ("error", 1)
    assert line.fields["authorizer"] == "testkit.edge.HandAuthorizer"


class Faulty:
    """A meter, log or audit log of which every call raises, but ``refusal`` before a change."""

    threshold = LoggerThreshold(DEBUG)

    def refusal(self) -> None:
        """Let changes begin."""

    def __getattr__(self, name: str) -> Any:
        def call(*_arguments: object, **_fields: object) -> None:
            raise RuntimeError(name)

        return call


@pytest.mark.parametrize(
    ("part", "code"),
    [("requests", 0), ("request_log", 0), ("audit_log", -1), ("logger", 0)],
)
async def test_completed_change_is_answered_despite_later_faults(part: str, code: int) -> None:
    """What counts and logs reports its fault elsewhere; an unrecorded change is error -1."""
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    authorizer = HandAuthorizer(lambda bindings: [done(AclCreateResult())] * len(bindings))
    world = World(authorizer=authorizer)
    faulty: dict[str, Any] = {part: Faulty()}
    world.context = replace(world.context, **faulty)
    channel, transport = world.connect()

    channel.data_received(create(["a"]) + describe("behind"))
    await until(lambda: len(transport.answers()) == 2)

    changed, behind = transport.answers()
    assert answer(changed, CreateAclsResponse, 3)[1].results[0].error_code == code
    assert answer(behind, DescribeAclsResponse, 3)[1].error_message == "behind"
    assert len(authorizer.asked) == 1
    assert not transport.closing
    assert bool(reported) is (part in ("requests", "request_log"))


async def test_unknown_update_is_rejected() -> None:
    authorizer = HandAuthorizer(lambda bindings: [done(AclCreateResult())] * len(bindings))
    world = World(authorizer=authorizer)
    world.context.updates.updates.clear()
    channel, transport = world.connect()

    channel.data_received(create(["a"]) + describe("behind"))

    refused, _behind = transport.answers()
    assert answer(refused, CreateAclsResponse, 3)[1].results[0].error_code == -1
    assert world.log.one("a request failed")
    assert (authorizer.asked, len(world.context.updates)) == ([], 0)


async def test_unawaited_change_is_answered_immediately() -> None:
    """``wait=False`` answers now; should the change fail later, the log says so."""
    world = World()
    channel, transport = world.connect()

    channel.data_received(delete_topics("a", timeout_ms=0))

    (frame,) = transport.answers()
    assert answer(frame, DeleteTopicsResponse, 5)[1].responses == ()
    assert transport.is_reading()
    await until(lambda: bool(world.services.changes))
    world.services.changes[0][1].set_exception(RuntimeError("boom"))
    await until(lambda: not world.context.updates)
    assert world.log.one("items of a change failed")


async def test_slow_update_times_out_and_continues() -> None:
    """After the time its request is refused with 7 and those behind it are answered; it goes on."""
    world = World(Limits(update_timeout_ms=1))
    channel, transport = world.connect()

    channel.data_received(delete_topics("a", "b") + describe("behind", 2))
    await until(lambda: len(transport.answers()) == 2)

    assert codes(transport) == [7, 7]
    assert len(world.context.updates) == 1
    line = world.log.one("items of a change timed out")
    assert (line.fields["timed_out"], line.fields["api"]) == (1, "DeleteTopics")
    world.services.changes[0][1].set_result([None, None])
    await until(lambda: not world.context.updates)
    assert len(transport.answers()) == 2


async def test_cancelled_update_is_answered() -> None:
    """Where the services cancel what is awaited, the client gets -1 and is not left waiting."""
    world = World()
    channel, transport = world.connect()
    channel.data_received(delete_topics("a"))
    await until(lambda: bool(world.services.changes))

    world.services.changes[0][1].cancel()
    await until(lambda: bool(transport.writes))

    assert codes(transport) == [-1]
    assert not world.context.updates


def delete_topics(*names: str, timeout_ms: int = 9) -> bytes:
    """Return a DeleteTopics of names."""
    return request(DeleteTopicsRequest(topic_names=names, timeout_ms=timeout_ms), 5)


def codes(transport: Transport) -> list[int]:
    """Return the codes of the first answer, of DeleteTopics."""
    rows = answer(transport.answers()[0], DeleteTopicsResponse, 5)[1].responses
    return [row.error_code for row in rows]


OK = AclCreateResult()


class HandAuditLog:
    """Has recorded nothing until the test says so."""

    def __init__(self) -> None:
        self.is_recorded = True
        self.waiting: list[asyncio.Future[str | None]] = []
        self.refused: ApiError | None = None
        self.logins: list[Login] = []
        self.timeouts_s: list[float] = []

    async def wait_until_recorded(self, timeout_s: float) -> str | None:
        self.timeouts_s.append(timeout_s)
        if self.is_recorded:
            return None
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        return await future

    def refusal(self) -> ApiError | None:
        return self.refused

    def record_login(self, login: Login) -> None:
        self.logins.append(login)


class Recorded(World):
    """One connection, its audit log, and its authorizer, which answers at once."""

    def __init__(self, *, offers: ConnectionSecurity = UNAUTHENTICATED) -> None:
        self.audit_log = HandAuditLog()
        self.authorizer = HandAuthorizer(self._create)
        super().__init__(authorizer=self.authorizer, offers=offers, audit_log=self.audit_log)
        self.channel, self.pipe = self.connect()

    def _create(self, bindings: Sequence[Any]) -> Any:
        self.audit_log.is_recorded = False
        refused = AclCreateResult(ApiError(ErrorCode.INVALID_REQUEST, "no name"))
        return [done(OK if binding.pattern.name else refused) for binding in bindings]

    async def record(self, problem: str | None = None) -> None:
        """Let the audit log record the only change, or fail to; wait until the update is over."""
        await until(lambda: bool(self.audit_log.waiting))
        self.audit_log.is_recorded = True
        self.audit_log.waiting[0].set_result(problem)
        await until(lambda: not self.context.updates)


async def test_immediate_result_waits_for_the_audit_log() -> None:
    w = Recorded()

    w.channel.data_received(describe("before", 1) + create(["x"], 2) + describe("behind", 3))

    assert [answer(each, DescribeAclsResponse, 3)[0] for each in w.pipe.answers()] == [1]
    await w.record()
    assert [int.from_bytes(each[:4]) for each in w.pipe.answers()] == [1, 2, 3]
    (timeout_s,) = w.audit_log.timeouts_s
    assert GRACE_S <= timeout_s <= Limits().update_timeout_ms / 1000 + GRACE_S


async def test_unrecorded_change_is_reported() -> None:
    w = Recorded()
    w.channel.data_received(create(["x"], 1))

    await w.record("no space")

    (frame,) = w.pipe.answers()
    (result,) = answer(frame, CreateAclsResponse, 3)[1].results
    assert result.error_code == 56
    assert result.error_message == (
        "The change was made, but the audit log could not be written: no space. It is recorded"
        " later if the disk is what failed."
    )


async def test_unrecorded_change_leaves_refused_rows_as_they_are() -> None:
    w = Recorded()
    w.channel.data_received(create(["x", "", "y"], 1))

    await w.record("no space")

    (frame,) = w.pipe.answers()
    results = answer(frame, CreateAclsResponse, 3)[1].results
    assert [row.error_code for row in results] == [56, 42, 56]
    assert results[1].error_message == "no name"


async def test_unwritable_audit_log_rejects_changes() -> None:
    w = Recorded()
    w.audit_log.refused = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "nothing was changed")

    w.channel.data_received(create(["x"], 1) + describe("a", 2))

    refused, described = w.pipe.answers()
    (result,) = answer(refused, CreateAclsResponse, 3)[1].results
    assert (result.error_code, result.error_message) == (56, "nothing was changed")
    assert answer(described, DescribeAclsResponse, 3)[1].error_code == 0
    assert w.authorizer.asked == []


async def test_logins_are_recorded() -> None:
    w = Recorded(offers=LOGIN)
    w.channel.data_received(handshake() + authenticate(plain(), correlation_id=5))
    failed = Recorded(offers=LOGIN)
    failed.channel.data_received(handshake() + authenticate(plain(password="wrong")))
    await until(lambda: bool(w.audit_log.logins and failed.audit_log.logins))

    (login,) = w.audit_log.logins
    assert str(login.principal) == "User:alice"
    assert (login.mechanism, login.reason, login.reauthentication) == ("PLAIN", None, False)
    assert login.header is not None
    assert (login.header.api_key, login.header.correlation_id) == (36, 5)
    (failure,) = failed.audit_log.logins
    assert failure.principal is None
    assert failure.reason
    assert "wrong" not in failure.reason


class Boom(Exception):
    """An exception that can be referred to weakly."""


@pytest.mark.usefixtures("young_heap")
async def test_failure_leaves_no_reference_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[weakref.ref[Boom]] = []

    async def fails(_services: object, _names: object) -> None:
        error = Boom()
        left.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error

    monkeypatch.setattr("testkit.edge.HandServices.delete_topics", fails)
    world = World()
    channel, transport = world.connect()
    gc.collect()
    gc.disable()
    try:
        channel.data_received(delete_topics("a"))
        await until(lambda: bool(transport.writes))
        world.log.lines.clear()
        await asyncio.sleep(0)

        assert codes(transport) == [-1]
        assert [each() for each in left] == [None]
    finally:
        gc.enable()
