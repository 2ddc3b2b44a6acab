"""What the log and the trail are told of a connection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from doorkeeper.exchange import Closed, Login, Note
from doorkeeper.limits import Limits
from doorkeeper.net.telling import tell_end, tell_notes
from testkit.edge import LOGIN, connection, handshake
from testkit.shells import World


async def test_the_reason_of_a_failed_login_is_told_in_a_bounded_line() -> None:
    """A stranger chooses the name of the mechanism: it fills no disk."""
    world = World(Limits(failed_authentication_delay_ms=0), offers=LOGIN)
    shell, _ = world.connect()

    shell.data_received(handshake("N" * 30_000))
    await world.turns()

    reason = world.log.one("failed authentication").fields["reason"]
    assert reason == f"Unsupported SASL mechanism {'N' * 473}... (30027 characters)"


async def test_an_end_without_a_reason_is_worth_no_line() -> None:
    """Another one is told with what is known of it."""
    world = World()

    tell_end(Closed(""), "p", world.around)
    tell_end(Closed("too old", {"version": 3}), "p", world.around)

    (line,) = world.log.lines
    assert (line.level, line.event) == ("warning", "closing connection")
    assert line.fields == {"connection": "p", "reason": "too old", "version": 3}


async def test_notes_are_told_once() -> None:
    """Logins to the trail alone; what went wrong with its error, anything else as a warning."""
    logins: list[Login] = []
    world = World(trail=SimpleNamespace(logged_in=logins.append))
    asked, error = connection(), ValueError("x")
    login = Login(asked.peer, None, "PLAIN", reauthentication=False, client_software="")
    asked.notes = [Note("odd", {"a": 1}), login, Note("wrong", {"b": 2}, error)]

    tell_notes(asked, world.around)
    tell_notes(asked, world.around)

    peer: dict[str, Any] = {"connection": asked.peer.connection_id}
    assert [(each.level, each.event, each.fields) for each in world.log.lines] == [
        ("warning", "odd", {**peer, "a": 1}),
        ("error", "wrong", {**peer, "b": 2, "exc_info": error}),
    ]
    assert logins == [login]
