"""The channel and the audit log: answers to changes wait for it, logins are recorded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.net.options import UNAUTHENTICATED, ConnectionSecurity
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.channels import World
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.connection.exchange import Login

OK = AclCreateResult()


class HandAuditLog:
    """Has recorded nothing until the test says so."""

    def __init__(self) -> None:
        self.is_recorded = True
        self.waiting: list[asyncio.Future[str | None]] = []
        self.refused: ApiError | None = None
        self.logins: list[Login] = []

    async def wait_until_recorded(self) -> str | None:
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

    def _create(self, bindings: Sequence[object]) -> Any:
        self.audit_log.is_recorded = False
        return [done(OK) for _ in bindings]

    async def record(self, problem: str | None = None) -> None:
        """Let the audit log record the only change, or fail to; wait until the update is over."""
        await until(lambda: bool(self.audit_log.waiting))
        self.audit_log.is_recorded = True
        self.audit_log.waiting[0].set_result(problem)
        await until(lambda: not self.context.updates)


async def test_what_is_complete_at_once_waits_too() -> None:
    """Answers stay in order where the authorizer needs no time, but the audit log does."""
    w = Recorded()

    w.channel.data_received(describe("before", 1) + create(["x"], 2) + describe("behind", 3))

    assert [answer(each, DescribeAclsResponse, 3)[0] for each in w.pipe.answers()] == [1]
    await w.record()
    assert [int.from_bytes(each[:4]) for each in w.pipe.answers()] == [1, 2, 3]


async def test_a_change_that_could_not_be_recorded() -> None:
    """The client reads that it was made and not recorded."""
    w = Recorded()
    w.channel.data_received(create(["x"], 1))

    await w.record("no space")

    (frame,) = w.pipe.answers()
    (result,) = answer(frame, CreateAclsResponse, 3)[1].results
    assert result.error_code == 56
    assert result.error_message == (
        "The change was made, but the audit log could not be written: no space. It will be recorded"
        " when that is possible."
    )


async def test_an_audit_log_that_cannot_be_written_refuses_changes() -> None:
    """The authorizer is not even asked; questions are answered."""
    w = Recorded()
    w.audit_log.refused = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "nothing was changed")

    w.channel.data_received(create(["x"], 1) + describe("a", 2))

    refused, described = w.pipe.answers()
    (result,) = answer(refused, CreateAclsResponse, 3)[1].results
    assert (result.error_code, result.error_message) == (56, "nothing was changed")
    assert answer(described, DescribeAclsResponse, 3)[1].error_code == 0
    assert w.authorizer.asked == []


async def test_logins_are_told() -> None:
    """A login and its failure are told, with what the client proved or why not."""
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
