"""Doorkeeper's own trail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_pipeline.evaluation.numbering import Numbered
from doorkeeper_pipeline.sources import json_lines, trail
from doorkeeper_pipeline.sources.json_lines import Decided, Line, Missing
from doorkeeper_pipeline.sources.parsed import sum_parts
from testkit import trail_files

if TYPE_CHECKING:
    from pathlib import Path

MINUTE_NS = 60_000_000_000
NOW_NS = 1_700_000_000_000_000_000 // MINUTE_NS * MINUTE_NS


def event(**changed: object) -> dict[str, Any]:
    """Return a decision as the server writes it."""
    times = {"ts_ns": NOW_NS, "first_ns": NOW_NS, "last_ns": NOW_NS + 5_000_000_000}
    asked = {"principal": "User:alice", "count": 3, "rule": "DefaultDeny", "outcome": "DENIED"}
    return trail_files.event(1) | times | asked | changed


def line(**changed: object) -> Any:
    """Return what the line of an event says."""
    return trail.line(json.dumps(event(**changed)).encode()).decided


def test_merged_decision_keeps_count_and_times() -> None:
    (found,) = line()

    assert isinstance(found, Decided)
    assert (found.count, found.first_us * 1000, found.last_us * 1000) == (
        3,
        NOW_NS,
        NOW_NS + 5_000_000_000,
    )
    assert (found.principal, found.rule, found.rule_binding) == ("User:alice", "DefaultDeny", "")


def test_binding_has_kafkas_format() -> None:
    """The ACL that decided is the same text as in kafka-authorizer.log."""
    binding = {
        "id": "x",
        "resource_type": "TOPIC",
        "pattern_type": "PREFIXED",
        "resource_name": "or",
        "principal": "User:alice",
        "host": "*",
        "operation": "ALL",
        "permission": "DENY",
    }
    (found,) = line(rule="MatchingAcl", binding=binding)

    assert found.rule_binding == (
        "resourceType=TOPIC, resourceName=or, patternType=PREFIXED, principal=User:alice, host=*,"
        " operation=ALL, permissionType=DENY"
    )


@pytest.mark.parametrize(
    ("outcome", "allowed", "denied", "probe"),
    [
        ("DENIED", True, True, False),
        ("DENIED", True, False, True),
        ("ALLOWED", True, False, False),
        ("ALLOWED", False, True, True),
    ],
)
def test_probes_match_kafkas_trace_messages(
    *, outcome: str, allowed: bool, denied: bool, probe: bool
) -> None:
    """A decision is a probe when Kafka would log this outcome of it at TRACE."""
    (found,) = line(outcome=outcome, log_if_allowed=allowed, log_if_denied=denied)

    assert found.probe is probe


@pytest.mark.parametrize("kind", ["change", "novel"])
def test_other_events_are_skipped(kind: str) -> None:
    assert line(kind=kind) == ()


def test_events_have_numbers() -> None:
    found = trail.line(json.dumps(event(kind="change", seq=7, node=2)).encode())

    assert found == Line(number=Numbered(2, 7, NOW_NS // 1000, allowed=False))
    assert line(seq=0)[0].principal == "User:alice"


def test_dropped_decisions_are_reported() -> None:
    found = trail.line(json.dumps(event(kind="dropped", count=7)).encode())

    assert found.missing == Missing(7, NOW_NS // 1000, NOW_NS // 1000 + 5_000_000)


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": 7},
        {"outcome": "MAYBE"},
        {"operation": "FROB"},
        {"count": 0},
        {"first_ns": 0},
        {"host": 7},
        {"seq": 1 << 63},
        {"ts_ns": 0},
        {"kind": "dropped", "last_ns": 1 << 70},
    ],
)
def test_invalid_events_are_quarantined(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        line(**changed)


def test_truncated_line_is_quarantined(tmp_path: Path) -> None:
    good = json.dumps(event()).encode()
    path = tmp_path / "audit.jsonl"
    path.write_bytes(good + b"\n" + good[:50] + b"\n\n" + good + b"\n" + good[:9])

    found = sum_parts(json_lines.parse_parts(path, "", trail.SOURCE, trail.line))

    assert found.decisions["count"].to_list() == [6]
    assert found.quarantine["byte_offset"].to_list() == [len(good) + 1, 2 * len(good) + 54]
    assert found.lines == 4


def test_questions_on_types_are_skipped() -> None:
    """What was asked of any resource of a type says nothing of a name."""
    assert line(pattern_type="PREFIXED") == ()
    assert line(reference_count=0) == ()
