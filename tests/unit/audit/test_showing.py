"""doorkeeper.audit.showing: a line for people."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.audit.showing import format_event

ACL = {
    "permission": "ALLOW",
    "operation": "READ",
    "resource_type": "TOPIC",
    "resource_name": "or",
    "pattern_type": "PREFIXED",
    "principal": "User:bob",
    "host": "*",
}
DECISION = {
    "kind": "decision",
    "time": "T",
    "count": 1,
    "principal": "User:bob",
    "host": "10.0.0.7",
    "client_id": "c",
    "api": "Metadata",
    "correlation_id": 5,
    "operation": "READ",
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "outcome": "ALLOWED",
    "rule": "MatchingAcl",
    "binding": ACL,
    "purpose": "access",
}
LOGIN = {
    "kind": "login",
    "time": "T",
    "count": 3,
    "outcome": "FAILED",
    "principal": None,
    "host": "10.0.0.7",
    "mechanism": "PLAIN",
    "reauthentication": True,
    "reason": "wrong password",
}
CHANGE = {
    "kind": "change",
    "time": "T",
    "subject": "acls",
    "revision": 4,
    "principal": "User:root",
    "host": "10.0.0.7",
    "client_id": "c",
    "api": None,
    "correlation_id": None,
    "added": [ACL],
    "removed": [{**ACL, "pattern_type": "LITERAL"}],
    "items": [{"action": "set", "name": "bob", "detail": "SCRAM-SHA-256"}],
}


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            DECISION,
            (
                "T ALLOWED   User:bob from 10.0.0.7 READ TOPIC:orders by MatchingAcl ALLOW READ"
                " TOPIC:or* for User:bob from * [Metadata 5 of c]"
            ),
        ),
        (
            {
                **DECISION,
                "rule": None,
                "binding": None,
                "purpose": "probe",
                "count": 7,
                "outcome": "DENIED",
            },
            (
                "T DENIED    User:bob from 10.0.0.7 READ TOPIC:orders by a plug-in (probe)"
                " [Metadata 5 of c] x7"
            ),
        ),
        (LOGIN, "T FAILED    login again somebody from 10.0.0.7 by PLAIN: wrong password x3"),
        (
            CHANGE,
            (
                "T CHANGED acls User:root from 10.0.0.7 revision 4:"
                " + ALLOW READ TOPIC:or* for User:bob from *;"
                " - ALLOW READ TOPIC:or for User:bob from *; set bob (SCRAM-SHA-256)"
            ),
        ),
        (
            {"kind": "dropped", "time": "T", "count": 9, "changes": 1, "reason": "disk"},
            "T DROPPED 9 (1 changes): disk",
        ),
        ({"kind": "stop", "seq": 1, "node": 1, "ts_ns": 1, "time": "T"}, "T STOP"),
        ({"kind": "new", "time": "T", "what": 5}, "T NEW what=5"),
    ],
)
def test_lines(event: dict[str, Any], line: str) -> None:
    """When, what came of it, who, what and why; kinds of newer servers with all their fields."""
    assert format_event(event, lambda text, _: text) == line


def test_colours() -> None:
    """What succeeds is green and what fails is red."""

    def colour(event: dict[str, Any]) -> str:
        return format_event(event, lambda text, colour: f"<{colour}:{text.strip()}>")

    assert "<green:ALLOWED>" in colour(DECISION)
    assert "<red:FAILED>" in colour(LOGIN)
    assert "<yellow:CHANGED acls>" in colour(CHANGE)
