"""The log lines of one connection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from doorkeeper.connection.exchange import Closed, LogEvent, Login
from doorkeeper.limits import Limits
from doorkeeper.net.connection_log import log_end, log_events
from testkit.channels import World
from testkit.edge import LOGIN, connection, handshake


async def test_the_reason_of_a_failed_login_is_cut() -> None:
    """The client chooses the name of the mechanism: it must not fill the disk."""
    world = World(Limits(failed_authentication_delay_ms=0), offers=LOGIN)
    channel, _ = world.connect()

    channel.data_received(handshake("N" * 30_000))
    await world.turns()

    reason = world.log.one("failed authentication").fields["reason"]
    assert reason == f"Unsupported SASL mechanism {'N' * 473}... (30027 characters)"


async def test_an_end_without_a_reason_is_not_logged() -> None:
    """Another one is logged with its fields."""
    world = World()

    log_end(Closed(""), "p", world.context)
    log_end(Closed("too old", {"version": 3}), "p", world.context)

    (line,) = world.log.lines
    assert (line.level, line.event) == ("warning", "closing connection")
    assert line.fields == {"connection": "p", "reason": "too old", "version": 3}


async def test_notes_are_logged_once() -> None:
    """Logins go to the audit log alone; faults are logged with their error, others as warnings."""
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
