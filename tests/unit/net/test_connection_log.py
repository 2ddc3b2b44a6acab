"""The log lines of one connection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from doorkeeper.connection.exchange import LogEvent, Login
from doorkeeper.limits import Limits
from doorkeeper.net.connection_log import log_events
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
