"""The audit log of a world, as a Doorkeeper writes it: equal decisions of a window are one event.

Only numbers and times differ between events of a question, and they stand in front; the rest is
made once for each distinct question. The columns are joined by Arrow, as those of logs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from synthetic.traffic import events
from synthetic.writing import BEGIN_MS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper.acls.decision import Decision
    from synthetic.traffic import World

API_KEYS = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "CreateTopics": 19,
    "DeleteTopics": 20,
    "InitProducerId": 22,
    "DescribeAcls": 29,
    "DescribeConfigs": 32,
}
"""Of the requests in ``traffic.ASKINGS``."""

_NS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """Which trail is written: how many decisions, in how many files, merged for how long."""

    decisions: int = 10_000
    files: int = 4
    days: int = 7
    begin_ms: int = BEGIN_MS
    window_ms: int = 10_000
    node: int = 1
    compressed: bool = False


def write_trail(world: World, folder: Path, trail: Trail) -> tuple[Path, ...]:
    """Write a trail into a folder; return its files from old to new.

    Raises:
        OSError: the folder cannot be written.

    """
    folder.mkdir(parents=True, exist_ok=True)
    merged = _merge(world, trail)
    tails = pa.array(_tails(world), pa.large_string())
    paths = []
    size = -(-len(merged) // max(1, trail.files))
    for begin in range(0, len(merged), max(1, size)):
        part = merged.slice(begin, size)
        lines = _lines(part, tails, first=begin + 1, trail=trail)
        suffix = ".jsonl.zst" if trail.compressed else ".jsonl"
        name = f"audit-{trail.node}-{begin + 1:012d}-{begin + len(part):012d}{suffix}"
        data = b"".join(lines.to_pylist())
        (folder / name).write_bytes(zstandard.compress(data) if trail.compressed else data)
        paths.append(folder / name)
    return tuple(paths)


def _merge(world: World, trail: Trail) -> pl.DataFrame:
    """Return one row for each question and window, in the order in which windows end."""
    window = (pl.col("ms") // trail.window_ms).alias("window")
    counted = (
        pl.len().cast(pl.Int64).alias("count"),
        pl.col("ms").min().alias("first"),
        pl.col("ms").max().alias("last"),
    )
    parts = [
        pl.DataFrame({"row": part.rows, "ms": part.at_ms}).group_by("row", window).agg(*counted)
        for part in events(world, trail.decisions, begin_ms=trail.begin_ms, days=trail.days)
    ]
    if not parts:
        return pl.DataFrame(schema=["row", "window", "count", "first", "last"])
    return (
        pl.concat(parts)
        .group_by("row", "window")
        .agg(pl.col("count").sum(), pl.col("first").min(), pl.col("last").max())
        .sort("window", "first", "row")
    )


def _lines(part: pl.DataFrame, tails: pa.Array, *, first: int, trail: Trail) -> pa.Array:
    at_ms = (part["window"] + 1) * trail.window_ms
    moments = pl.from_epoch(at_ms, time_unit="ms").dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
    seq = np.arange(first, first + len(part), dtype=np.int64)
    pieces: list[Any] = [
        *('{"kind":"decision","seq":', seq),
        *(f',"node":{trail.node},"ts_ns":', at_ms * _NS),
        *(',"time":"', moments),
        *('","count":', part["count"]),
        *(',"first_ns":', part["first"] * _NS),
        *(',"last_ns":', part["last"] * _NS),
        tails.take(pa.array(part["row"].to_numpy())),
    ]
    joined = pc.binary_join_element_wise(
        *(_texts(each) for each in pieces), pa.scalar("", pa.large_string())
    )
    return joined.cast(pa.large_binary())


def _texts(piece: object) -> object:
    if isinstance(piece, str):
        return pa.scalar(piece, pa.large_string())
    array = piece.to_arrow() if isinstance(piece, pl.Series) else pa.array(piece)
    return array.cast(pa.large_string())


def _tails(world: World) -> Iterator[str]:
    """Return the text after the times, for each question in order."""
    for row, decision in zip(world.questions.to_pylist(), world.decisions, strict=True):
        event = {
            "principal": row["principal"],
            "host": row["host"],
            "listener": "SASL_SSL",
            "security_protocol": "SASL_SSL",
            "client_id": "client",
            "client_software": "apache-kafka-java/4.3.1",
            "api": row["api"],
            "api_key": API_KEYS[row["api"]],
            "api_version": 1,
            "correlation_id": 7,
            "last_correlation_id": 9,
            "operation": row["operation"],
            "resource_type": row["resource_type"],
            "pattern_type": "LITERAL",
            "resource_name": row["resource_name"],
            "outcome": "ALLOWED" if row["allowed"] else "DENIED",
            "rule": decision.rule.value,
            "binding": _binding(decision),
            "purpose": "access",
            "log_if_allowed": True,
            "log_if_denied": True,
            "reference_count": row["reference_count"],
        }
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        yield f",{text[1:]}\n"


def _binding(decision: Decision) -> dict[str, str | None] | None:
    if decision.binding is None:
        return None
    pattern, entry = decision.binding
    return {
        "id": decision.binding_id,
        "resource_type": pattern.resource_type.name,
        "pattern_type": pattern.pattern_type.name,
        "resource_name": pattern.name,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation.name,
        "permission": entry.permission_type.name,
    }
