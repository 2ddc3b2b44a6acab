"""The inputs of a run: which of them are new, how they are read to bronze, and their manifest."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from doorkeeper_pipeline.errors import TooManyUnread, Unreadable
from doorkeeper_pipeline.jobs import merged
from doorkeeper_pipeline.jobs.read import (
    SLICE_BYTES,
    ReadResult,
    identify_copy,
    read_copy,
    read_piece,
    sum_results,
    tasks_of,
)
from doorkeeper_pipeline.jobs.topics import compare_topics
from doorkeeper_pipeline.sources.files import identify_all, list_files, state_of
from doorkeeper_pipeline.tables import manifest, places
from doorkeeper_pipeline.tables.manifest import NO_INODE
from doorkeeper_pipeline.topics.addresses import is_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings
    from doorkeeper_pipeline.sources.files import Identified
    from doorkeeper_pipeline.tables.delta import Change
    from doorkeeper_pipeline.tables.manifest import SourceFile

File = TypeVar("File")

FAILURES_TOLD = 10
NORMALISED = "lines whose principal is printed as an object, of which type and name were taken"
FILES_A_TASK = 16
"""So many files that are new are looked at by a task."""
FEW_LINES = 10
SHORTER = "files that are shorter than when they were read; kept as read before (--rebuild)"


class Inputs:
    """The inputs of a run, compared with those that are ``known``: rows of the table files.

    ``warnings`` counts what was odd in them.
    """

    def __init__(
        self,
        request: RunRequest,
        around: Surroundings,
        change: Change,
        known: list[dict[str, Any]],
    ) -> None:
        self.warnings: Counter[str] = Counter()
        self._request = request
        self._around = around
        self._change = change
        self._known = known

    def compare(self) -> manifest.Work:
        """Return which inputs are to be read.

        Raises:
            Unreadable: one cannot be, or is not recognised.

        """
        addresses = [address for address in self._request.inputs if places.is_address(address)]
        topics = [address for address in addresses if is_topic(address)]
        known, files, failures = self._compare_remote(
            [address for address in addresses if address not in topics]
        )
        of_topics = [row for row in self._known if row["topic_id"] is not None]
        ranges = compare_topics(self._request, topics, of_topics, self._around.tell)
        self.warnings += ranges.warnings
        failures += ranges.failures
        here = [path for path in self._request.inputs if path not in addresses]
        paths = {state_of(path): path for path in list_files(here)}
        known_here, new = self._split_known(paths)
        known += known_here
        tasks = [
            tuple(new[begin : begin + FILES_A_TASK]) for begin in range(0, len(new), FILES_A_TASK)
        ]
        how = (self._request.source, self._request.pattern)
        results = chain.from_iterable(self._around.engine.map(identify_all, tasks, how))
        new_files, new_failures = _sorted_out(results)
        files += new_files
        _refuse((*failures, *new_failures))
        claimed = frozenset(row["file_id"] for row in known)
        others = [
            row for row in self._known if row["file_id"] not in claimed and row["topic_id"] is None
        ]
        work = manifest.compare(
            others, files, self._request.reading(), rebuild=self._request.rebuild, taken=claimed
        )
        if work.shorter:
            self.warnings[SHORTER] += work.shorter
        size = sum(file.size for _, file in work.read)
        self._around.tell(
            f"{len(files) + len(known)} files found, {len(work.read)} to read"
            f" ({size / 1e6:,.1f} MB), {len(known) + len(work.unchanged)} unchanged"
        )
        return replace(
            work,
            read=(*work.read, *ranges.read),
            unchanged=(*work.unchanged, *known, *ranges.unchanged),
            gone=(*work.gone, *ranges.gone),
        )

    def _split_known(
        self, files: Mapping[tuple[str, int, int, int], File]
    ) -> tuple[list[dict[str, Any]], list[File]]:
        """Return the rows of files that are as they were read, by their states, and the others.

        To look at the beginnings of all files, or to fetch them, would take longer than the news.
        """
        rows = {
            (row["path"], row["size"], row["mtime_ns"], row["inode"]): row for row in self._known
        }
        known, new = [], []
        for state, file in files.items():
            row = rows.get(state)
            if row is not None and self._request.is_read(row):
                known.append(row)
            else:
                new.append(file)
        return known, new

    def _compare_remote(
        self, addresses: list[str]
    ) -> tuple[list[dict[str, Any]], list[SourceFile], list[str]]:
        """Return the rows of known files at addresses, the other files there, and failures."""
        if not addresses:
            return [], [], []
        engine, request = self._around.engine, self._request
        files = {(*file, NO_INODE): file for file in engine.list_remote(addresses)}
        known, new = self._split_known(files)
        asked = {file.address: (file, request.source, request.pattern) for file in new}
        new_files, failures = _sorted_out(engine.over_files(identify_copy, asked))
        return known, sorted(new_files, key=lambda file: file.path), failures

    def read(self, work: manifest.Work) -> dict[str, ReadResult]:
        """Read inputs to bronze; return the results by the ids of files.

        Raises:
            Unreadable: one cannot be read.
            TooManyUnread: a larger part went to quarantine than the request allows.

        """
        if not work.read:
            return {}
        request = self._request
        for file_id, _ in work.read:
            for table in ("lines", "quarantine"):
                self._change.remove(table, places.of_file(file_id))
        pieces: dict[str, list[ReadResult]] = {file_id: [] for file_id, _ in work.read}
        merged.take_out(self._change, [row for row in self._known if row["file_id"] in pieces])
        tasks = tasks_of(
            work.read,
            request.zone,
            self._change.tables.root,
            request.slice_bytes or SLICE_BYTES,
            request.pattern,
        )
        remote = {
            task.path: task
            for task in tasks
            if task.records is None and places.is_address(task.path)
        }
        others = [task for task in tasks if task.path not in remote]
        engine = self._around.engine
        every_result = chain(
            engine.map(read_piece, others, None), engine.over_files(read_copy, remote)
        )
        for done, result in enumerate(every_result, 1):
            pieces[result.file_id].append(result)
            self._change.add(result.parts)
            self._around.tell(f"read {done} of {len(tasks)} pieces")
        _refuse(
            piece.failure
            for file_pieces in pieces.values()
            for piece in file_pieces
            if piece.failure
        )
        results = {
            file_id: sum_results(file_id, file_pieces) for file_id, file_pieces in pieces.items()
        }
        whole = sum_results("", list(results.values()))
        self.warnings.update(dict(whole.warnings))
        self.warnings += Counter(
            {
                "decisions that the audit log reports as dropped": whole.missing,
                NORMALISED: whole.normalised,
            }
        )
        self._check_quarantine(whole)
        return results

    def _check_quarantine(self, whole: ReadResult) -> None:
        """Refuse a run that could not read much: its tables would look complete."""
        quarantined, lines = whole.quarantined, max(whole.lines, whole.quarantined)
        allowed = self._request.max_quarantined
        # A torn line or two of a short log are normal, if they are not most of it.
        matters = quarantined > FEW_LINES or 2 * quarantined > lines
        if matters and quarantined * 100 > allowed * lines:
            raise TooManyUnread(
                f"{quarantined:,} of {lines:,} lines could not be parsed"
                f" ({100 * quarantined / lines:.1f}%); allowed: {allowed:g}% (--max-quarantined)."
                " Check --source, --zone and the files"
            )

    def rows(
        self, work: manifest.Work, results: dict[str, ReadResult]
    ) -> dict[str, dict[str, Any]]:
        """Return the new rows of the table files, by id."""
        files = {row["file_id"]: row for row in (*work.unchanged, *work.gone)}
        for file_id, file in work.read:
            files[file_id] = self._file_row(file, results[file_id])
        return files

    def _file_row(self, file: SourceFile, result: ReadResult) -> dict[str, Any]:
        return {
            "file_id": result.file_id,
            "path": file.path,
            "source": file.source,
            "options": self._request.reading(),
            "size": file.size,
            "mtime_ns": file.mtime_ns,
            "inode": file.inode,
            "head_bytes": len(file.beginning),
            "head_sha256": file.digest(),
            "lines": result.lines,
            "decisions": result.decisions,
            "ignored": result.ignored,
            "quarantined": result.quarantined,
            "first_ts": result.first_ts,
            "last_ts": result.last_ts,
            "clusters": sorted(result.clusters),
            "topic_id": file.topic_id or None,
            "partition": file.records and file.records.partition,
            "first_offset": file.records and file.records.first,
            "end_offset": file.records and file.records.end,
            "allowed_days": sorted(result.allowed_days),
            "days": sorted(result.days),
            "unread_principals": sorted(result.unread.principals),
            "nameless": result.unread.nameless,
            "damaged": result.damaged,
            "lost_days": sorted(day.isoformat() for day in result.lost_days),
            "numbers": msgspec.json.encode(result.stretches).decode(),
            "run_id": self._around.run_id,
        }


def _sorted_out(results: Iterable[Identified]) -> tuple[list[SourceFile], list[str]]:
    """Return files, and why others could not be identified."""
    files: list[SourceFile] = []
    failures: list[str] = []
    for result in results:
        if isinstance(result, str):
            failures.append(result)
        elif result is not None:
            files.append(result)
    return files, failures


def _refuse(failures: Iterable[str]) -> None:
    texts = list(failures)
    if not texts:
        return
    more = len(texts) - FAILURES_TOLD
    shown = texts[:FAILURES_TOLD] + ([f"and {more} more"] if more > 0 else [])
    raise Unreadable("\n".join(shown))
