"""Files to bronze: every task reads a range of one file, and writes rows as files of the tables.

The result of a task is small: counts, hours, broken rules, names of files. Rows go through Parquet
only.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import polars as pl

from doorkeeper_pipeline.engines.contract import RemoteFile
from doorkeeper_pipeline.errors import PipelineError, Unreadable
from doorkeeper_pipeline.evaluation.unread import NOTHING_UNREAD, UnreadLines, sum_unread
from doorkeeper_pipeline.sources import (
    authorizer_log,
    cloudevents,
    json_lines,
    ocsf,
    reading,
    trail,
)
from doorkeeper_pipeline.sources.clocks import zone_in_doubt
from doorkeeper_pipeline.sources.files import Identified, identified
from doorkeeper_pipeline.sources.parsed import Counts, Parsed, sum_parts, total
from doorkeeper_pipeline.sources.possible_principals import unread_in
from doorkeeper_pipeline.sources.reading import RECORD_BYTES_MAX, opened_raw
from doorkeeper_pipeline.sources.recognising import HEAD_BYTES, form_of
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import DataFile, write_part
from doorkeeper_pipeline.tables.manifest import NO_INODE, SourceFile
from doorkeeper_pipeline.tables.places import is_address
from doorkeeper_pipeline.topics.addresses import RecordRange
from doorkeeper_pipeline.topics.lines import RecordLines

SLICE_BYTES = 256 << 20
"""Bytes of a task: large enough that starting it costs nothing, small enough for a worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTask:
    """A range of a file: its place, source and beginning, and the folder of the tables."""

    file_id: str
    path: str
    source: str
    how: str
    zone: str
    number: int
    start: int
    end: int | None
    head_bytes: int
    head_sha256: str
    out: str
    pattern: str = ""
    records: RecordRange | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult(Counts):
    """The counts of a range of a file; ``failure`` says why it could not be read, or nothing.

    A failure is a value, so that the other files are read and all failures are told at once.
    """

    file_id: str
    decisions: int = 0
    first_ts: dt.datetime | None = None
    last_ts: dt.datetime | None = None
    days: frozenset[str] = frozenset()
    allowed_days: frozenset[str] = frozenset()
    clusters: frozenset[str] = frozenset()
    unread: UnreadLines = NOTHING_UNREAD
    parts: tuple[DataFile, ...] = ()
    warnings: tuple[tuple[str, int], ...] = ()
    failure: str = ""


def tasks_of(
    files: Iterable[tuple[str, SourceFile]],
    zone: str,
    out: str,
    size: int = SLICE_BYTES,
    pattern: str = "",
) -> list[ReadTask]:
    """Return the tasks that read files, the largest first, so that no long one comes last."""
    tasks = [
        ReadTask(
            file_id=file_id,
            path=file.path,
            source=file.source,
            how=file.how,
            zone=zone,
            pattern=pattern,
            number=number,
            start=start,
            end=end,
            head_bytes=len(file.beginning),
            head_sha256=file.digest(),
            out=out,
            records=records,
        )
        for file_id, file in files
        for number, (start, end, records) in enumerate(_pieces(file, size))
    ]
    sizes = {file_id: file.size for file_id, file in files}
    return sorted(
        tasks,
        key=lambda task: (task.end or sizes[task.file_id]) - task.start,
        reverse=True,
    )


def _pieces(file: SourceFile, size: int) -> list[tuple[int, int | None, RecordRange | None]]:
    """Return (start, end, range) of each task over a file, or a range of a topic."""
    if file.records is None:
        return [(start, end, None) for start, end in slices(file, size)]
    return [(0, None, records) for records in file.records.pieces()]


def read_piece(_: None, task: ReadTask) -> ReadResult:
    """Read a range of a file or of a topic, and write its rows; the function of the tasks."""
    return _write_range(task, task) if task.records is None else _read_topic(task, task.records)


def read_copy(task: ReadTask, copy: Path) -> ReadResult:
    """Read the copy of a file at an address: the function of ``Engine.over_files``."""
    return _write_range(task, replace(task, path=str(copy)))


def _write_range(task: ReadTask, here: ReadTask) -> ReadResult:
    """Write the rows of a range, part by part: memory must not grow with a compressed file.

    ``here`` has the path from which it is read. The files of a failure are returned as well, for
    the driver to delete.
    """
    results: list[ReadResult] = []
    failure = ""
    try:
        for number, parsed in enumerate(parse_parts(here)):
            results.append(_write_rows(task, parsed, number))
        _check_same(here)
        if task.start == 0:
            results.append(_doubts(here))
    except PipelineError as error:
        failure = str(error)
    except OSError as error:
        failure = f"{here.path}: {error.strerror}"
    return sum_results(task.file_id, results, failure.replace(here.path, task.path))


def _doubts(task: ReadTask) -> ReadResult:
    """Return a warning if the times of a file's collector contradict the zone."""
    if task.source != authorizer_log.SOURCE:
        return ReadResult(file_id=task.file_id)
    beginning = reading.head(Path(task.path), task.how, HEAD_BYTES)
    form = form_of(beginning, task.pattern)
    doubt = "" if form is None else zone_in_doubt(beginning, form, task.zone)
    return ReadResult(file_id=task.file_id, warnings=((doubt, 1),) if doubt else ())


def sum_results(file_id: str, results: Sequence[ReadResult], failure: str = "") -> ReadResult:
    warnings: Counter[str] = Counter()
    for result in results:
        warnings.update(dict(result.warnings))
    return ReadResult(
        file_id=file_id,
        **total(results),
        decisions=sum(result.decisions for result in results),
        first_ts=min((at for result in results if (at := result.first_ts)), default=None),
        last_ts=max((at for result in results if (at := result.last_ts)), default=None),
        days=frozenset().union(*(result.days for result in results)),
        allowed_days=frozenset().union(*(result.allowed_days for result in results)),
        clusters=frozenset().union(*(result.clusters for result in results)),
        unread=sum_unread(result.unread for result in results),
        parts=tuple(part for result in results for part in result.parts),
        warnings=tuple(warnings.items()),
        failure=failure,
    )


def _read_topic(task: ReadTask, records: RecordRange) -> ReadResult:
    from doorkeeper_pipeline.topics.consumer import Consumer

    with RecordLines() as lines:
        here = replace(task, path=str(lines.path))
        try:
            with Consumer(records.address.servers, records.config) as consumer:
                for some in consumer.read(records):
                    lines.add(some)
            lines.complete()
            result = _write_rows(task, by_offsets(sum_parts(parse_parts(here)), lines))
            return sum_results(task.file_id, [result, _doubts(here)])
        except (PipelineError, OSError) as error:
            failure = str(error).replace(here.path, task.path)
            return ReadResult(file_id=task.file_id, failure=failure)


def by_offsets(parsed: Parsed, lines: RecordLines) -> Parsed:
    """Return the content with offsets of records in place of those of bytes.

    The bad lines of a record are one row, with the reason of the first; all are counted. Records
    without a value are lines without a decision.
    """
    offsets = [lines.offset_at(position) for position in parsed.quarantine["byte_offset"]]
    quarantine = (
        parsed.quarantine.with_columns(byte_offset=pl.Series(offsets, dtype=pl.Int64))
        .group_by("byte_offset", maintain_order=True)
        .agg(pl.col("byte_length", "reason").first(), pl.col("text").str.join("\n"))
    )
    return replace(
        parsed,
        quarantine=quarantine,
        lines=parsed.lines + lines.empty,
        ignored=parsed.ignored + lines.empty,
    )


def identify_copy(asked: tuple[RemoteFile, str | None, str], copy: Path) -> Identified:
    """Return a file at an address with its identity, by source and layout."""
    file, source, pattern = asked
    found = identified(copy, source, pattern)
    if isinstance(found, str):
        return found.replace(str(copy), file.address)
    return found and replace(
        found, path=file.address, size=file.size, mtime_ns=file.mtime_ns, inode=NO_INODE
    )


def parse_parts(task: ReadTask) -> Iterator[Parsed]:
    """Yield the content of the range of a file in parts of bounded memory."""
    path, span = Path(task.path), (task.start, task.end)
    if task.source == authorizer_log.SOURCE:
        return authorizer_log.parse_parts(path, task.how, task.zone, *span, pattern=task.pattern)
    adapter = {
        trail.SOURCE: trail.line,
        ocsf.SOURCE: ocsf.line,
        cloudevents.SOURCE: cloudevents.line,
    }[task.source]
    return json_lines.parse_parts(path, task.how, task.source, adapter, *span)


def _check_same(task: ReadTask) -> None:
    """Check that the file that was read is the one that was found under its name.

    A log that was rotated in between has its name given to the next one: its lines would count as
    this one's, for ever.
    """
    path = Path(task.path)
    beginning = reading.head(path, reading.compression(path), task.head_bytes)
    if hashlib.sha256(beginning).hexdigest() != task.head_sha256:
        raise Unreadable(f"{path}: the file was replaced while it was read; run again")


def _write_rows(task: ReadTask, parsed: Parsed, number: int = 0) -> ReadResult:
    name = f"{places.of_file(task.file_id)}{task.number:05d}-{number:05d}"
    parts = []
    lines = contents.as_frame(
        "lines", parsed.decisions.with_columns(file_id=pl.lit(task.file_id))
    ).sort("minute")
    warnings = contents.check("lines", lines)
    if not lines.is_empty():
        parts.append(write_part(task.out, "lines", lines, name))
    if not parsed.quarantine.is_empty():
        quarantine = contents.as_frame(
            "quarantine",
            parsed.quarantine.with_columns(
                file_id=pl.lit(task.file_id),
                file=pl.lit(task.path),
                source=pl.lit(task.source),
            ),
        ).sort("byte_offset")
        contents.check("quarantine", quarantine)
        parts.append(write_part(task.out, "quarantine", quarantine, name))
    allowed = lines.filter(pl.col("outcome") == "ALLOWED")
    return ReadResult(
        file_id=task.file_id,
        **total([parsed]),
        decisions=int(lines["count"].sum()),
        first_ts=_time(lines["first_ts"].min()),
        last_ts=_time(lines["last_ts"].max()),
        days=frozenset(lines["minute"].dt.strftime("%Y-%m-%d").unique()),
        allowed_days=frozenset(allowed["minute"].dt.strftime("%Y-%m-%d").unique()),
        clusters=frozenset(lines["cluster"].unique()) - {""},
        unread=unread_in(parsed.quarantine, lines["principal"].unique()),
        parts=tuple(parts),
        warnings=tuple(warnings.items()),
    )


def _time(value: object) -> dt.datetime | None:
    return value if isinstance(value, dt.datetime) else None


def slices(file: SourceFile, size: int = SLICE_BYTES) -> list[tuple[int, int | None]]:
    """Return (start, end) of each range; one without an end where a file is compressed, or far."""
    if file.how or file.size <= size or is_address(file.path):
        return [(0, None)]
    borders = [0]
    with opened_raw(Path(file.path)) as opened:
        while borders[-1] + size < file.size:
            border = _border(opened, file, borders[-1] + size)
            if border is None or border >= file.size:
                break
            borders.append(border)
    return list(zip(borders, [*borders[1:], file.size], strict=True))


def _border(opened: IO[bytes], file: SourceFile, near: int) -> int | None:
    """Return where the first record begins after a place; None when none does soon."""
    opened.seek(near)
    data = opened.read(RECORD_BYTES_MAX)
    if file.source == authorizer_log.SOURCE:
        match = authorizer_log.BOUNDARY.search(data)
        return None if match is None else near + match.end()
    at = data.find(b"\n")
    return None if at < 0 else near + at + 1
