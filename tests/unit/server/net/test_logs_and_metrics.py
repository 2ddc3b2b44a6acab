"""Metrics of requests, and log lines about requests, connections, handshakes and peers."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.node import UpdateOperation
from doorkeeper.server.authorizer.contract import AclCreateResult
from doorkeeper.server.net import peer_log
from doorkeeper.server.net.connection_log import log_events
from doorkeeper.server.net.handshakes import LINES_MAX, Handshakes
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.peer_log import PeerLog
from doorkeeper.server.net.protocol.exchange import LogEvent, Login
from doorkeeper.server.net.request_log import DEBUG
from doorkeeper.server.operations.logs.levels import LoggerThreshold
from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.meters import RequestMeter
from doorkeeper.server.runtime.metrics.series import Meters
from testkit.channels import PendingAuthorizer, World
from testkit.edge import (
    Log,
    connection,
    create,
    describe,
    until,
    versions,
)
from testkit.metrics import samples

if TYPE_CHECKING:
    from doorkeeper.server.net.channel import Channel


class Lines:
    """A logger whose level the test sets."""

    def __init__(self) -> None:
        self.threshold = LoggerThreshold(DEBUG)
        self.lines: list[dict[str, object]] = []

    def debug(self, event: str, **fields: object) -> None:
        self.lines.append({"event": event, **fields})


class Logged(World):
    """A connection with a request log, and an authorizer that takes a quarter of a second."""

    def __init__(self) -> None:
        self.lines = Lines()
        self.authorizer = PendingAuthorizer(self._take_time)
        super().__init__(authorizer=self.authorizer, request_log=self.lines)
        self.channel, self.pipe = self.connect()

    def _take_time(self) -> None:
        self.clock.now_s += 0.25


async def test_request_is_logged() -> None:
    w = Logged()
    question = describe("fail", 42)

    w.channel.data_received(versions(software="java") + question)

    _, line = w.lines.lines
    peer = w.channel.connection.peer
    assert line == {
        "event": "completed request",
        "api": "DescribeAcls",
        "api_key": 29,
        "version": 3,
        "correlation_id": 42,
        "client_id": "t",
        "client_software": "java/1.0",
        "principal": "User:ANONYMOUS",
        "connection": peer.connection_id,
        "host": peer.host,
        "listener": peer.listener_name,
        "security_protocol": peer.security_protocol,
        "request_bytes": len(question) - 4,
        "response_bytes": len(w.pipe.answers()[1]),
        "local_ms": 0.0,
        "remote_ms": 0.0,
        "total_ms": 0.0,
        "errors": "UNKNOWN_SERVER_ERROR",
    }


async def test_local_and_remote_time_of_a_change() -> None:
    w = Logged()
    w.channel.data_received(create(["x"], 7))
    await until(lambda: bool(w.authorizer.futures))
    w.clock.now_s += 2
    w.authorizer.futures[0].set_result(AclCreateResult(ApiError(ErrorCode.INVALID_REQUEST)))
    await until(lambda: bool(w.lines.lines))

    (line,) = w.lines.lines
    assert (line["local_ms"], line["remote_ms"], line["total_ms"]) == (250.0, 2000.0, 2250.0)
    assert (line["correlation_id"], line["errors"]) == (7, "INVALID_REQUEST")


async def test_request_log_is_off_until_debug() -> None:
    w = Logged()
    w.lines.threshold.level = 20
    w.channel.data_received(describe("a"))
    assert w.channel.connection.request_records is None
    assert w.lines.lines == []
    w.lines.threshold.level = DEBUG

    w.channel.data_received(describe("b", 2))

    assert [line["correlation_id"] for line in w.lines.lines] == [2]


async def test_events_are_logged_once() -> None:
    logins: list[Login] = []
    world = World(audit_log=SimpleNamespace(record_login=logins.append))
    asked, error = connection(), ValueError("x")
    login = Login(asked.peer, None, "PLAIN", reauthentication=False, client_software="")
    asked.events = [LogEvent("odd", {"a": 1}), login, LogEvent("wrong", {"b": 2}, error)]

    log_events(asked, world.context)
    log_events(asked, world.context)

    peer: dict[str, Any] = {"connection": asked.peer.connection_id}
    assert [(each.level, each.event, each.fields) for each in world.log.lines] == [
        ("warning", "odd", {**peer, "a": 1}),
        ("error", "wrong", {**peer, "b": 2, "exc_info": error}),
    ]
    assert logins == [login]


UNTOLD = "failed TLS handshakes, not logged one by one"


async def test_handshake_log_lines_are_limited() -> None:
    log = Log()
    handshakes = Handshakes("DOOR", Limits(), log)

    for number in range(LINES_MAX + 30):
        handshakes.record_failure(f"c{number}", "timed out")
    await handshakes.close()

    assert log.events() == ["failed TLS handshake"] * LINES_MAX + [UNTOLD]
    assert handshakes.failures == LINES_MAX + 30
    assert log.one(UNTOLD).fields == {"listener": "DOOR", "count": 30}
    assert log.lines[0].fields == {
        "listener": "DOOR",
        "connection": "c0",
        "reason": "timed out",
    }


OMITTED = "log lines omitted"


async def test_long_texts_are_truncated() -> None:
    """Names come from clients, up to 32 kB of them; numbers and errors stay as they are."""
    log, error = Log(), ValueError("x")
    lines = PeerLog(log, asyncio.get_running_loop())

    lines.warning("refused", client_id="c" * 30_000, version=3, name="short")
    lines.error("failed", exc_info=error)

    assert log.lines[0].fields == {
        "client_id": f"{'c' * 500}... (30000 characters)",
        "version": 3,
        "name": "short",
    }
    assert log.lines[1].fields == {"exc_info": error}


async def test_repeated_log_lines_are_limited() -> None:
    log = Log()
    lines = PeerLog(log, asyncio.get_running_loop())

    for _ in range(peer_log.LINES_MAX + 30):
        lines.info("refused")
    lines.warning("closed")
    lines.close()

    assert log.events() == ["refused"] * peer_log.LINES_MAX + ["closed", OMITTED]
    assert log.one(OMITTED).fields == {"of": "refused", "count": 30}


OK = AclCreateResult()


class Metered(World):
    """Channels with one meter, and an authorizer that takes a quarter of a second."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.meters = Meters()
        self.authorizer = PendingAuthorizer(self._take_time)
        super().__init__(limits, self.authorizer, requests=RequestMeter(self.meters))

    def _take_time(self) -> None:
        self.clock.now_s += 0.25

    def channel(self) -> Channel:
        """Return a channel that is connected."""
        return self.connect()[0]

    def values(self, metric: table.Metric) -> dict[tuple[str, ...], Any]:
        return samples(self.meters, metric)

    def requests(self) -> dict[tuple[str, ...], float]:
        return self.values(table.REQUESTS)


async def test_wait_divides_the_time_of_an_update() -> None:
    world = Metered()
    channel = world.channel()
    futures = world.authorizer.futures
    timed = (table.LOCAL_SECONDS, table.REMOTE_SECONDS, table.REQUEST_SECONDS)

    channel.data_received(create(["x", "y"]))
    await until(lambda: bool(futures))
    world.clock.now_s += 1
    futures[1].set_result(OK)
    await asyncio.sleep(0)
    world.clock.now_s += 2
    futures[0].set_result(AclCreateResult(ApiError(ErrorCode.INVALID_REQUEST)))
    await until(lambda: bool(world.requests()))

    assert world.requests() == {("CreateAcls", "INVALID_REQUEST"): 1}
    times = [world.meters.histogram(each, "CreateAcls").sum for each in timed]
    assert times == [0.25, 3.0, 3.25]


async def test_rejected_and_timed_out_updates_are_counted() -> None:
    world = Metered(Limits(updates_waiting_max=2, update_timeout_ms=100))
    first, second = world.channel(), world.channel()

    first.data_received(create(["a", "b", "c"]))
    assert world.context.updates.items[UpdateOperation.ACLS] == 3
    second.data_received(create(["d"]))
    await until(lambda: bool(world.authorizer.futures))
    world.authorizer.futures[1].set_result(OK)
    await until(lambda: not world.context.updates)

    assert world.meters.counter(table.UPDATES_REFUSED).value == 1
    assert world.values(table.ITEMS_TIMED_OUT) == {(UpdateOperation.ACLS,): 2}
    assert world.requests() == {
        ("CreateAcls", "THROTTLING_QUOTA_EXCEEDED"): 1,
        ("CreateAcls", "REQUEST_TIMED_OUT"): 1,
    }
