"""Audit logs that tests write: numbered decisions, a few in each file."""

from __future__ import annotations

import json
from pathlib import Path

import zstandard

NOW_NS = 1_790_000_000_000_000_000


def event(number: int) -> dict[str, object]:
    """Return a decision whose resource is its number."""
    return {
        "kind": "decision",
        "seq": number,
        "node": 1,
        "ts_ns": NOW_NS,
        "count": 1,
        "first_ns": NOW_NS + number * 1_000_000,
        "last_ns": NOW_NS + number * 1_000_000,
        "principal": f"User:p{number % 7}",
        "host": "10.0.0.7",
        "api": "Fetch",
        "operation": "READ",
        "resource_type": "TOPIC",
        "pattern_type": "LITERAL",
        "resource_name": f"t{number}",
        "outcome": "DENIED" if number % 3 else "ALLOWED",
        "rule": "DefaultDeny" if number % 3 else "SuperUser",
        "binding": None,
        "log_if_allowed": True,
        "log_if_denied": True,
        "reference_count": 1,
    }


def write_file(folder: Path, first: int, count: int, *, compressed: bool = False) -> Path:
    """Write a finished file of so many events, as the server does: closed by rename."""
    lines = "".join(json.dumps(event(first + number)) + "\n" for number in range(count)).encode()
    name = f"audit-1-{first:012d}-{first + count - 1:012d}.jsonl" + ".zst" * compressed
    new = folder / f"{name}.tmp"
    new.write_bytes(zstandard.compress(lines) if compressed else lines)
    return new.rename(folder / name)
