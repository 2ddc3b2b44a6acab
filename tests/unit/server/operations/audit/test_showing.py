"""doorkeeper.server.operations.audit.showing: an event as a line for people."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.server.operations.audit.showing import format_event

ACL = {
    "permission": "ALLOW",
    "operation": "READ",
    "resource_type": "TOPIC",
    "resource_name": "or",
    "pattern_type": "PREFIXED",
    "principal": "User:bob",
    "host": "*",
}
WHO = {"time": "T", "principal": "User:bob", "host": "10.0.0.7", "client_id": "c"}
DECISION = {
    **WHO,
    "kind": "decision",
    "count": 7,
    "api": "Metadata",
    "correlation_id": 5,
    "operation": "READ",
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "outcome": "ALLOWED",
    "rule": "MatchingAcl",
    "binding": ACL,
    "purpose": "probe",
}
LOGIN = {
    **WHO,
    "kind": "login",
    "count": 1,
    "outcome": "FAILED",
    "principal": None,
    "mechanism": "PLAIN",
    "reauthentication": True,
    "reason": "wrong password",
}
CHANGE = {
    **WHO,
    "kind": "change",
    "subject": "acls",
    "revision": 4,
    "api": None,
    "correlation_id": None,
    "added": [ACL],
    "removed": [{**ACL, "pattern_type": "LITERAL"}],
    "items": [{"action": "set", "name": "bob", "detail": "SCRAM-SHA-256"}],
}


LINES = {
    "decision": (
        DECISION,
        (
            "T <green:ALLOWED> User:bob from 10.0.0.7 READ TOPIC:orders by MatchingAcl"
            " ALLOW READ TOPIC:or* for User:bob from * (probe) [Metadata 5 of c] x7"
        ),
    ),
    "login": (
        LOGIN,
        "T <red:FAILED> login again somebody from 10.0.0.7 by PLAIN: wrong password",
    ),
    "change": (
        CHANGE,
        (
            "T <yellow:CHANGED acls> User:bob from 10.0.0.7 revision 4:"
            " + ALLOW READ TOPIC:or* for User:bob from *;"
            " - ALLOW READ TOPIC:or for User:bob from *; set bob (SCRAM-SHA-256)"
        ),
    ),
    "unknown": ({"kind": "new", "time": "T", "what": 5}, "T <cyan:NEW> what=5"),
}


@pytest.mark.parametrize(("event", "line"), LINES.values(), ids=LINES)
def test_lines(event: dict[str, Any], line: str) -> None:
    """Time, result, who, what and why; kinds of newer servers with all their fields."""

    def paint(text: str, colour: str) -> str:
        return text if colour == "bright_black" else f"<{colour}:{text.strip()}>"

    assert format_event(event, paint) == line
