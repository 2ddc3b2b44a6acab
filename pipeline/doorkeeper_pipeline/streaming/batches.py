"""Batches: some finished files of the trail, read together, there whole or not at all.

A batch is written into a staging folder and becomes visible by one rename to ``batch=N``. It holds
the names of its files or the offsets of its records, and those are left out wherever they come
again, as after a crash, when Spark's checkpoint repeats a batch. So nothing is lost and nothing
stands twice, wherever a driver is killed. The numbers are ours: Spark's begin anew without a
checkpoint, and do not count the batches of the local stream.

Spark starts a task again when it loses the worker before it has the result, and tasks of a driver
that was killed may live on for a while. So each attempt of a batch has a folder of its own, each
task writes files of its own, and those are kept whose names came back with a result.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import polars as pl

from doorkeeper_pipeline.errors import PipelineError, Unavailable, Unreadable
from doorkeeper_pipeline.sources import trail
from doorkeeper_pipeline.sources.parsed import Parsed, quarantine_frame
from doorkeeper_pipeline.sources.reading import compression
from doorkeeper_pipeline.tables import contents
from doorkeeper_pipeline.tables.delta import sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from doorkeeper_pipeline.engines.contract import Engine

STREAM = "stream"
LEDGER = "files.json"
OFFSETS = "offsets.json"
"""Of a topic: partition, first offset and the offset behind the last one of each part."""

FINISHED = (".jsonl", ".jsonl.zst", ".jsonl.gz")
"""Names of files of the trail that are finished: ``.open`` and temporary names are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """A file of the audit log, and the folder in which its rows are staged."""

    path: str
    staging: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """The counts of a file, and the name of the files with its rows."""

    path: str
    part: str
    lines: int
    decisions: int
    quarantined: int
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsResult(FileResult):
    """The counts of records of a partition, from an offset until before another."""

    partition: int
    first: int
    end: int


R = TypeVar("R", bound=FileResult)


class Added(NamedTuple, Generic[R]):
    """The number of a new batch, and the results of its parts; none: nothing was new."""

    number: int
    results: list[R]


class Batches:
    """The batches of an output folder."""

    def __init__(self, out: Path) -> None:
        """Look at an output folder; nothing is written yet."""
        self.root = out / STREAM
        self._folder = self.root / "batches"
        self._staging = self.root / ".staging"

    def folder_of(self, number: int) -> Path:
        """Return where a batch is."""
        return self._folder / f"batch={number:08d}"

    def numbers(self) -> list[int]:
        """Return the numbers of the batches that are there."""
        return sorted(int(path.name.partition("=")[2]) for path in self._folder.glob("batch=*"))

    def file_names(self) -> set[str]:
        """Return the names of all files in batches, as ``name_of`` gives them."""
        found: set[str] = set()
        for path in self._folder.glob(f"batch=*/{LEDGER}"):
            found.update(json.loads(path.read_text(encoding="utf-8")))
        return found

    def decisions(self) -> list[str]:
        """Return the Parquet files of all decisions in batches."""
        return sorted(str(path) for path in self._folder.glob("batch=*/decisions/*.parquet"))

    def quarantine(self) -> list[str]:
        """Return the Parquet files of the quarantine."""
        return sorted(str(path) for path in self._folder.glob("batch=*/quarantine/*.parquet"))

    def add(
        self,
        paths: Sequence[str],
        engine: Engine,
        checkpoint: Callable[[str], None] = lambda _: None,
    ) -> Added[FileResult]:
        """Read the files that are in no batch as a batch; ``checkpoint`` is told the steps.

        Raises:
            PipelineError: the file system is full, or a task could not write.

        """

        def stage(staging: Path) -> list[FileResult]:
            seen = self.file_names()
            new = [path for path in paths if name_of(path) not in seen]
            tasks = [FileTask(path=path, staging=str(staging.absolute())) for path in new]
            results = list(engine.map(read_file, tasks, None))
            ledger = staging / LEDGER
            ledger.write_text(json.dumps(sorted(map(name_of, new))), encoding="utf-8")
            return results

        return self._complete(stage, checkpoint)

    def offsets(self, topic_id: str) -> dict[int, int]:
        """Return for each partition of a topic that is in batches where it goes on."""
        found: dict[int, int] = {}
        for path in self._folder.glob(f"batch=*/{OFFSETS}"):
            ledger = json.loads(path.read_text(encoding="utf-8"))
            if ledger["topic_id"] == topic_id:
                for partition, _, end in ledger["ranges"]:
                    found[partition] = max(end, found.get(partition, 0))
        return found

    def add_records(
        self,
        topic_id: str,
        read: Callable[[Path], Iterable[RecordsResult]],
        checkpoint: Callable[[str], None] = lambda _: None,
    ) -> Added[RecordsResult]:
        """Read records as a batch; ``read`` gets the folder to stage those that are in no batch.

        Raises:
            PipelineError: the file system is full, or the records cannot be read.

        """

        def stage(staging: Path) -> list[RecordsResult]:
            results = list(read(staging.absolute()))
            ranges = sorted((each.partition, each.first, each.end) for each in results)
            ledger = json.dumps({"topic_id": topic_id, "ranges": ranges})
            (staging / OFFSETS).write_text(ledger, encoding="utf-8")
            return results

        return self._complete(stage, checkpoint)

    def _complete(
        self, stage: Callable[[Path], list[R]], checkpoint: Callable[[str], None]
    ) -> Added[R]:
        """Stage the next batch and rename it, unless nothing is new."""
        number = max(self.numbers(), default=-1) + 1
        final = self.folder_of(number)
        shutil.rmtree(self._staging, ignore_errors=True)
        staging = self._staging / f"{final.name}-{secrets.token_hex(4)}"
        staging.mkdir(parents=True)
        results = stage(staging)
        if not results:
            shutil.rmtree(staging)
            return Added(number, results)
        _keep(staging, {result.part for result in results})
        checkpoint("staged")
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in (*staging.rglob("*"), staging):
            sync(path)
        staging.rename(final)
        sync(self._folder)
        checkpoint("renamed")
        return Added(number, results)


def _keep(staging: Path, parts: set[str]) -> None:
    """Delete the rows of tasks whose results did not come: others have written the same."""
    for path in staging.glob("*/*.parquet"):
        if path.name not in parts:
            path.unlink()


def read_file(_: None, task: FileTask) -> FileResult:
    """Read a file and stage its rows; the function of the tasks. A damaged file is quarantined.

    Raises:
        PipelineError: it cannot be opened. It must not be in a batch, which counts as read for
            ever: permissions or a lost disk may only hide it for now.

    """
    path = _where(Path(task.path))
    name = hashlib.sha256(name_of(task.path).encode()).hexdigest()[:16]
    try:
        parsed = trail.read(path, compression(path))
    except Unavailable:
        raise
    except OSError as error:
        raise PipelineError(f"{path}: {error.strerror}") from error
    except Unreadable as error:
        parsed = Parsed(quarantine=quarantine_frame([(0, 0, str(error), "")]))
    staged = stage_rows(Path(task.staging), name, task.path, trail.SOURCE, parsed)
    return FileResult(
        path=task.path,
        part=staged.part,
        lines=parsed.lines,
        decisions=staged.decisions,
        quarantined=len(parsed.quarantine),
        missing=parsed.missing,
    )


class Staged(NamedTuple):
    """The name of the files that were written, and the number of decisions in them."""

    part: str
    decisions: int


def stage_rows(staging: Path, name: str, place: str, source: str, parsed: Parsed) -> Staged:
    """Write rows as files of a batch, which no other task writes.

    Raises:
        PipelineError: a file cannot be written.

    """
    part = f"part-{name}-{secrets.token_hex(4)}.parquet"
    lines = contents.as_frame("lines", parsed.decisions.with_columns(file_id=pl.lit(name)))
    contents.check("lines", lines)
    try:
        contents.write(lines.drop("lines", "time_mark", "file_id"), staging / "decisions" / part)
        if not parsed.quarantine.is_empty():
            rows = parsed.quarantine.with_columns(
                file_id=pl.lit(name), file=pl.lit(place), source=pl.lit(source)
            )
            contents.write(contents.as_frame("quarantine", rows), staging / "quarantine" / part)
    except OSError as error:
        raise PipelineError(f"{staging}: {error.strerror}") from error
    return Staged(part, int(lines["count"].sum()))


def finished_files(folder: Path) -> list[Path]:
    """Return the finished files of the trail in a folder, the oldest name first.

    Raises:
        Unreadable: the folder is not there.

    """
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  names are what is needed
    except OSError as error:
        raise Unreadable(f"{folder}: {error.strerror}") from error
    return [folder / name for name in names if is_finished(name)]


def name_of(path: str) -> str:
    """Return the name of a file of the trail without that of its compression.

    A file is finished before it is compressed, so it may be listed under both names.
    """
    return Path(path).name.removesuffix(".zst").removesuffix(".gz")


def _where(path: Path) -> Path:
    """Return where a file is now: it may have been compressed since it was listed."""
    if path.exists():
        return path
    packed = [path.with_name(f"{path.name}{end}") for end in (".zst", ".gz")]
    return next((each for each in packed if each.exists()), path)


def is_finished(name: str) -> bool:
    """Say whether a file of that name will not change any more."""
    return name.endswith(FINISHED) and not name.startswith(".")
