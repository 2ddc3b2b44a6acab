"""Everything in one go: new input files to bronze, days to silver, and the gold tables anew.

Nothing of the output folder changes before all of it is there: then one commit swaps it in.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.columns import CLUSTER
from doorkeeper_pipeline.errors import Conflicting, PipelineError, TooManyUnread, Unreadable
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS, Thresholds, describe_doubt
from doorkeeper_pipeline.evaluation.unread import (
    NOTHING_UNREAD,
    describe_unread,
    sum_unread,
    unread_in_files,
)
from doorkeeper_pipeline.jobs import causes, gold, merged, silver, sums
from doorkeeper_pipeline.jobs.basis import Basis, evidence_in
from doorkeeper_pipeline.jobs.belonging import (
    check_logs,
    check_name,
    choose_cluster,
    expect_cluster,
    known_name,
)
from doorkeeper_pipeline.jobs.broker_logs import broker_logs
from doorkeeper_pipeline.jobs.findings import groups_of, lines_of
from doorkeeper_pipeline.jobs.gold import GoldInput, GoldJob
from doorkeeper_pipeline.jobs.left_out import LeftOut, leave_out
from doorkeeper_pipeline.jobs.options import RunOptions
from doorkeeper_pipeline.jobs.silver import build_span
from doorkeeper_pipeline.jobs.succession import digest_of, follow_places, times_of
from doorkeeper_pipeline.jobs.topics import TopicsRequest, compare_topics
from doorkeeper_pipeline.sources.files import identify_all, list_files, state_of
from doorkeeper_pipeline.tables import contents, manifest, places
from doorkeeper_pipeline.tables.delta import Change, Tables, clean
from doorkeeper_pipeline.tables.locking import lock
from doorkeeper_pipeline.topics.addresses import is_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from doorkeeper_pipeline.engines.contract import Engine
    from doorkeeper_pipeline.evaluation.evidence import BrokerLog, Evidence
    from doorkeeper_pipeline.jobs.findings import Group
    from doorkeeper_pipeline.jobs.read import ReadResult
    from doorkeeper_pipeline.jobs.topics import TopicWork
    from doorkeeper_pipeline.tables.delta import DataFile
    from doorkeeper_pipeline.tables.source_file import SourceFile

FAILURES_TOLD = 10
FILES_A_TASK = 16
"""So many files that are new are looked at by a task."""
REASONS_TOLD = 3
MAX_QUARANTINED = 5.0
FEW_LINES = 10
EMPTY_SET = (
    "the set of ACLs that was given is empty, as a listing that failed: leave out --acls if the"
    " cluster has none"
)
_ACLS = "acls"
"""The name of the digest of the sets of ACLs that were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The options of a run.

    Attributes:
        out: The output folder.
        inputs: Files, folders and patterns of logs and trails; addresses of files and of topics.
        acls: Files of ACL sets and stores; empty keeps the bindings of the last run.
        source: The source of all inputs; None: recognised for each.
        pattern: The layout of log4j of logs that are not recognised without; empty for none.
        zone: The zone of times in logs that have none.
        rebuild: Whether files are read again that are known.
        since: The begin of the window of drift and new_access; None for the last day.
        policy: Super users, and the default without ACLs.
        max_quarantined: The percentage of the lines read now that may go to quarantine.
        thresholds: The evidence that a recommendation to remove an ACL needs.
        sensitive: The beginnings of the names of topics that are sensitive.
        excluded: Principals that the findings leave out.
        accepted: Findings that they leave out, by id: accepted until a day.
        networks: Whether hosts of ACLs may be networks, as in Kafka 4.4.
        cluster: The cluster that the gold tables are about: one that the events name, or a name for
            that of logs that name none; empty for the only one, or that of earlier runs.
        different_servers: Whether audit logs and authorizer logs of the same time are of different
            servers, and count both.
        command_config: A file with the properties of a Kafka client, for topics; empty for none.
        slice_bytes: Bytes of a large file that a task reads; None for the usual ones.

    """

    out: Path | str
    inputs: tuple[str, ...]
    acls: tuple[str, ...] = ()
    source: str | None = None
    pattern: str = ""
    zone: str = "UTC"
    rebuild: bool = False
    since: dt.datetime | None = None
    policy: Policy = field(default_factory=Policy)
    max_quarantined: float = MAX_QUARANTINED
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    sensitive: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    accepted: Mapping[str, dt.date] = field(default_factory=dict)
    networks: bool = True
    cluster: str = ""
    different_servers: bool = False
    command_config: str = ""
    slice_bytes: int | None = None

    def kept(self) -> RunOptions:
        """Return the options that stay with the tables."""
        return RunOptions(
            self.policy, self.networks, self.thresholds, self.sensitive, self.excluded
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The results of a run; the same numbers as its row in the table runs.

    ``findings`` are groups, the highest first, and ``lines`` a summary of them and of refusals.
    ``unread`` are the most frequent reasons of lines that went to quarantine, with their numbers.
    """

    run: dict[str, Any]
    rows: dict[str, int]
    gone: tuple[str, ...]
    evidence: Evidence
    findings: tuple[Group, ...] = ()
    lines: tuple[str, ...] = ()
    unread: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The surroundings of a run: an engine, the time, its id, and the progress output."""

    engine: Engine
    now: Callable[[], dt.datetime]
    run_id: str
    version: str
    tell: Callable[[str], None]
    checkpoint: Callable[[str], None] = lambda _: None


def run(request: RunRequest, around: Surroundings) -> RunSummary:
    """Bring the tables of an output folder up to date.

    Raises:
        PipelineError: it could not; the tables are as they were.

    """
    summary = _change_tables(request, around, only_news=False)
    assert summary is not None
    return summary


def run_if_new(request: RunRequest, around: Surroundings) -> RunSummary | None:
    """Do the same if there are new inputs or other ACLs; else change nothing and return None.

    Raises:
        PipelineError: it could not; the tables are as they were.

    """
    return _change_tables(request, around, only_news=True)


def _change_tables(
    request: RunRequest, around: Surroundings, *, only_news: bool
) -> RunSummary | None:
    with lock(request.out, around.tell):
        tables = Tables(request.out)
        change = Change(tables)
        try:
            summary = _Run(request, around, tables, change).whole(only_news=only_news)
        except BaseException:
            # What failed for want of room gives it back.
            change.discard()
            raise
        if summary is not None:
            clean(tables, change)
        return summary


class _Run:
    """One run: the values that its steps hand on."""

    def __init__(
        self, request: RunRequest, around: Surroundings, tables: Tables, change: Change
    ) -> None:
        self._request = request
        self._around = around
        self._tables = tables
        self._change = change
        self._started = around.now()
        self._known = tables.read("files").to_dicts()
        self._warnings: dict[str, int] = {}
        self._copied = 0
        self._texts: list[str] = []
        self._unread_lines = NOTHING_UNREAD
        self._empty_set = False
        self._asked: dict[str, Any] = {}
        self._cluster = expect_cluster(self._known, request.cluster, known_name(tables))
        runs = tables.read("runs")
        own = self._cluster.own(runs).filter(pl.col("command") == "run")
        made = own["digests"].to_list()[-1:]
        self._made: dict[str, str] = json.loads(made[0]) if any(made) else {}
        self._digests = {name: text for name, text in self._made.items() if name == sums.TABLE}
        times = own["started"].to_list()
        self._before = max(times, default=None)

    def whole(self, *, only_news: bool) -> RunSummary | None:
        """Do all steps, then commit; ``only_news``: nothing where no input or ACL is new."""
        if not self._request.inputs and not self._tables.parts("decisions"):
            raise Conflicting(
                f"--log: found none, and {self._request.out} has no decisions of earlier runs"
            )
        # A set of ACLs that is missing or wrong is found before the logs are read.
        bindings = self._bindings()
        work = self._compare()
        if only_news and not work.read and self._digests[_ACLS] == self._made.get(_ACLS, ""):
            return None
        return self._whole(bindings, work)

    def _whole(self, bindings: pl.DataFrame, work: manifest.Work) -> RunSummary:
        results = self._read(work)
        self._check_quarantine(results)
        files = self._files(work, results)
        if not self._request.different_servers:
            check_logs(files.values())
        self._cluster = choose_cluster(files.values(), self._request.cluster, self._cluster)
        if not any(row["clusters"] for row in files.values()):
            check_name(known_name(self._tables), self._request.cluster)
        self._write_bindings(bindings)
        self._unread_lines = unread_in_files(files.values(), self._cluster.name)
        self._decisions(work, files)
        rows = {"decisions files": len(self._change.parts("decisions"))}
        gold_rows, proof = self._gold(bindings, broker_logs(files.values()))
        rows.update(gold_rows)
        summarized = self._summarized()
        findings = self._findings(summarized)
        rows["findings"] = findings["gone"].null_count()
        self._warn_of_evidence(proof)
        row = self._row(work, results)
        self._write_manifest(files, row)
        self._around.tell("committing the new tables")
        self._change.commit(self._around.checkpoint)
        gone = tuple(sorted(each["path"] for each in work.gone))
        left_out = LeftOut(self._request.excluded, self._request.accepted)
        counted, left_out_lines = leave_out({**summarized, "findings": findings}, left_out)
        groups = groups_of(counted["findings"], self._started)
        return RunSummary(
            run=row,
            rows=rows,
            gone=gone,
            evidence=proof,
            findings=tuple(groups),
            lines=(*lines_of(groups, counted, self._before), *left_out_lines),
            unread=self._unread(work) if row["quarantined"] else (),
        )

    def _summarized(self) -> dict[str, pl.DataFrame]:
        """Return the tables of which findings are made."""
        return {
            name: self._cluster.own(self._read_new(name, (*columns, CLUSTER.name)))
            for name, columns in causes.SOURCES.items()
        }

    def _findings(self, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Return the table findings after this run; write it where it is another one."""
        before = self._tables.read("findings")
        own = self._cluster.own(before)
        now = self._with_name(causes.follow(own, causes.search(tables), self._started))
        if not now.equals(own):
            contents.check("findings", now)
            self._change.replace("findings", pl.concat([self._cluster.others(before), now]))
        return now

    def _unread(self, work: manifest.Work) -> tuple[tuple[str, int], ...]:
        """Return the most frequent reasons of lines that were read now and went to quarantine."""
        read = [file_id for file_id, _ in work.read]
        rows = self._read_new("quarantine", ("file_id", "reason"))
        return tuple(
            rows.filter(pl.col("file_id").is_in(read))
            .group_by("reason")
            .len()
            .sort(["len", "reason"], descending=[True, False])
            .head(REASONS_TOLD)
            .iter_rows()
        )

    def _compare(self) -> manifest.Work:
        addresses = [place for place in self._request.inputs if places.is_address(place)]
        topics = [place for place in addresses if is_topic(place)]
        known, found, failures = self._compare_remote(
            [place for place in addresses if place not in topics]
        )
        ranges = self._compare_topics(topics)
        failures += ranges.failures
        here = [place for place in self._request.inputs if place not in addresses]
        known_here, new_here = self._split_known(list_files(here))
        known += known_here
        how = (self._request.source, self._request.pattern)
        for each in self._around.engine.map(identify_all, new_here, how):
            found += each.files
            failures += each.failures
        _refuse(failures)
        claimed = frozenset(row["file_id"] for row in known)
        others = [
            row for row in self._known if row["file_id"] not in claimed and row["topic_id"] is None
        ]
        work = manifest.compare(
            others, found, self._options(), rebuild=self._request.rebuild, taken=claimed
        )
        new = sum(file.size for _, file in work.read)
        self._around.tell(
            f"{len(found) + len(known)} files found, {len(work.read)} to read"
            f" ({new / 1e6:,.1f} MB), {len(known) + len(work.unchanged) + len(work.moved)} known"
            " already"
        )
        return replace(
            work,
            read=(*work.read, *ranges.read),
            unchanged=(*work.unchanged, *known, *ranges.unchanged),
            gone=(*work.gone, *ranges.gone),
        )

    def _split_known(
        self, paths: list[Path]
    ) -> tuple[list[dict[str, Any]], list[tuple[Path, ...]]]:
        """Return the rows of files that are as they were read, and tasks that look at the others.

        To look at the beginnings of all files would take longer than the news.
        """
        rows = {
            (row["path"], row["size"], row["mtime_ns"], row["inode"]): row for row in self._known
        }
        known, new = [], []
        for path in paths:
            row = rows.get(state_of(path))
            if row is not None and self._is_read(row):
                known.append(row)
            else:
                new.append(path)
        return known, [
            tuple(new[begin : begin + FILES_A_TASK]) for begin in range(0, len(new), FILES_A_TASK)
        ]

    def _compare_topics(self, addresses: list[str]) -> TopicWork:
        request = self._request
        work = compare_topics(
            TopicsRequest(
                addresses=tuple(addresses),
                config=request.command_config,
                source=request.source,
                pattern=request.pattern,
                options=self._options(),
                rebuild=request.rebuild,
            ),
            [row for row in self._known if row["topic_id"] is not None],
            self._around.tell,
        )
        self._warn(work.warnings)
        return work

    def _compare_remote(
        self, addresses: list[str]
    ) -> tuple[list[dict[str, Any]], list[SourceFile], list[str]]:
        """Return the rows of known files at addresses, the other files there, and failures.

        A file is known by address, size and time: to look at its beginning is to fetch it.
        """
        if not addresses:
            return [], [], []
        from doorkeeper_pipeline.jobs.read import RemoteAsk, identify_copy

        engine, request = self._around.engine, self._request
        rows = {(row["path"], row["size"], row["mtime_ns"]): row for row in self._known}
        known, asked = [], {}
        for file in engine.list_remote(addresses):
            row = rows.get((file.address, file.size, file.mtime_ns))
            if row is not None and self._is_read(row):
                known.append(row)
            else:
                asked[file.address] = RemoteAsk(file, request.source, request.pattern)
        found: list[SourceFile] = []
        failures = []
        for each in engine.over_files(identify_copy, asked):
            if isinstance(each, str):
                failures.append(each)
            elif each is not None:
                found.append(each)
        return known, sorted(found, key=lambda file: file.path), failures

    def _is_read(self, row: dict[str, Any]) -> bool:
        """Return whether an unchanged file was read as it would be read now."""
        request = self._request
        same = row["options"] == self._options() and request.source in (None, row["source"])
        return same and not request.rebuild

    def _options(self) -> str:
        pattern = {"pattern": self._request.pattern} if self._request.pattern else {}
        return manifest.options_text({"zone": self._request.zone, **pattern})

    def _read(self, work: manifest.Work) -> dict[str, list[ReadResult]]:
        if not work.read:
            return {}
        # Arrow is imported here, which a run with nothing new does without.
        from doorkeeper_pipeline.jobs.read import (
            read_copy,
            read_piece,
            tasks_of,
        )
        from doorkeeper_pipeline.sources.slices import SLICE_BYTES

        request = self._request
        for file_id, _ in work.read:
            for table in ("lines", "quarantine"):
                self._change.remove(table, places.of_file(file_id))
        read = {file_id for file_id, _ in work.read}
        merged.take_out(self._change, [row for row in self._known if row["file_id"] in read])
        tasks = tasks_of(
            work.read,
            request.zone,
            self._tables.root,
            request.slice_bytes or SLICE_BYTES,
            request.pattern,
        )
        results: dict[str, list[ReadResult]] = {file_id: [] for file_id, _ in work.read}
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
            results[result.file_id].append(result)
            self._change.add(result.parts)
            self._around.tell(f"read {done} of {len(tasks)} pieces")
        every = [result for found in results.values() for result in found]
        _refuse(result.failure for result in every if result.failure)
        self._warn(warning for result in every for warning in result.warnings)
        if missing := sum(result.missing for result in every):
            self._warn([("decisions that the trail itself says are missing", missing)])
        return results

    def _check_quarantine(self, results: dict[str, list[ReadResult]]) -> None:
        """Refuse a run that could not read much: its tables would look complete.

        Raises:
            TooManyUnread: a larger part went to quarantine than the request allows.

        """
        every = [result for found in results.values() for result in found]
        quarantined = sum(result.quarantined for result in every)
        lines = max(sum(result.lines for result in every), quarantined)
        allowed = self._request.max_quarantined
        # A torn line or two of a short log are normal, if they are not most of it.
        matters = quarantined > FEW_LINES or 2 * quarantined > lines
        if matters and quarantined * 100 > allowed * lines:
            raise TooManyUnread(
                f"{quarantined:,} of {lines:,} lines could not be read"
                f" ({100 * quarantined / lines:.1f}%), and {allowed:g}% are allowed"
                " (--max-quarantined): is --source or --zone wrong, or are these other files?"
            )

    def _files(
        self, work: manifest.Work, results: dict[str, list[ReadResult]]
    ) -> dict[str, dict[str, Any]]:
        """Return the new rows of the table files, by id."""
        files = {row["file_id"]: row for row in (*work.unchanged, *work.moved, *work.gone)}
        for file_id, file in work.read:
            files[file_id] = self._file_row(file_id, file, results[file_id])
        return files

    def _file_row(
        self, file_id: str, file: SourceFile, results: list[ReadResult]
    ) -> dict[str, Any]:
        first = [result.first_ts for result in results if result.first_ts is not None]
        last = [result.last_ts for result in results if result.last_ts is not None]
        unread = sum_unread(result.unread for result in results)
        return {
            "file_id": file_id,
            "path": file.path,
            "source": file.source,
            "options": self._options(),
            "size": file.size,
            "mtime_ns": file.mtime_ns,
            "inode": file.inode,
            "head_bytes": len(file.beginning),
            "head_sha256": file.digest(),
            "lines": sum(result.lines for result in results),
            "decisions": sum(result.decisions for result in results),
            "ignored": sum(result.ignored for result in results),
            "quarantined": sum(result.quarantined for result in results),
            "first_ts": min(first, default=None),
            "last_ts": max(last, default=None),
            "clusters": sorted(frozenset().union(*(result.clusters for result in results))),
            "topic_id": file.topic_id or None,
            "partition": file.records and file.records.partition,
            "first_offset": file.records and file.records.first,
            "end_offset": file.records and file.records.end,
            "allowed_days": sorted(frozenset().union(*(result.allowed_days for result in results))),
            "days": sorted({day for result in results for day in result.days}),
            "unread_principals": sorted(unread.principals),
            "nameless": unread.nameless,
            "run_id": self._around.run_id,
        }

    def _decisions(self, work: manifest.Work, files: dict[str, dict[str, Any]]) -> None:
        """Make the spans anew of rows that were read now, or earlier from the same files."""
        read_now = {file_id for file_id, _ in work.read}
        rows = [row for row in (*self._known, *files.values()) if row["file_id"] in read_now]
        # Those of the time when there was one cluster are not named for it.
        unnamed = {
            places.day_of(part.path)
            for part in self._tables.parts("decisions")
            if self._cluster.ids and places.is_of_cluster(part.path, "")
        }
        tasks = list(silver.changed_spans(self._change, rows, files, unnamed))
        self._around.tell(f"decisions of {len({task.day for task in tasks})} days")
        for result in self._around.engine.map(build_span, tasks, None):
            self._copied += result.copied
            self._change.add(result.parts)

    def _bindings(self) -> pl.DataFrame:
        """Return the table bindings after the sets that were given, read if they are others."""
        before = self._cluster.own(self._tables.read("bindings"))
        given = self._request.acls
        last = self._made.get(_ACLS, "")
        content = digest_of(given) if given else ""
        digest = f"{content} {self._around.version}" if content else ""
        self._digests[_ACLS] = digest if given else last
        if not given:
            return before
        if digest and digest == last:
            bindings = before
        else:
            self._around.tell("reading the ACLs")
            bindings = follow_places(before, given, self._started)
        if bindings.filter(pl.col("valid_to").is_null()).is_empty():
            self._empty_set = True
        self._warn(contents.check("bindings", bindings).items())
        return bindings

    def _write_bindings(self, bindings: pl.DataFrame) -> None:
        """Write the bindings of the cluster if they are others, or have another name."""
        before = self._tables.read("bindings")
        now = pl.concat([self._cluster.others(before), self._with_name(bindings)])
        if not now.equals(before):
            self._change.replace("bindings", now)

    def _with_name(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows of a table with the name of the cluster."""
        return rows.with_columns(cluster=pl.lit(self._cluster.name))

    def _own_decisions(self) -> list[DataFile]:
        """Return the files of the decisions of the cluster."""
        return self._cluster.files_of(self._change.parts("decisions"))

    def _gold(
        self, bindings: pl.DataFrame, logs: tuple[BrokerLog, ...] | None
    ) -> tuple[dict[str, int], Evidence]:
        """Make the gold tables; keep those that depend on nothing that changed."""
        request = self._request
        self._asked = request.kept().values()
        values = {
            **self._asked,
            "since": None if request.since is None else request.since.isoformat(),
            "decisions": _names_digest(self._own_decisions()),
            "bindings": _rows_digest(bindings.drop(CLUSTER.name)),
            "cluster": self._cluster.name,
            "version": self._around.version,
        }
        rows = {"bindings": len(bindings)}
        for_basis = cache(lambda: self._gold_input(bindings))
        for job in gold.BASIS_JOBS:
            rows.update(self._make(job, for_basis, values))
        found = {
            name: self._cluster.own(self._read_new(name)).drop(CLUSTER.name)
            for job in gold.BASIS_JOBS
            for name in job.tables
        }
        basis = Basis(
            found["days"].to_dicts(),
            found["clients"].to_dicts(),
            found["agreement"].to_dicts(),
            bindings["valid_to"].null_count() > 0,
            logs,
        )
        proof = evidence_in(basis, request.policy, request.thresholds, self._started)
        if self._empty_set:
            # As a listing is that failed: then nothing is known about grants.
            proof = proof._replace(causes=(EMPTY_SET, *proof.causes), contradicts=True)
        values.update(
            lacking=proof.lacking,
            doubtful=sorted(proof.doubtful),
            lost_lines=proof.lost_lines,
            unread=sorted(self._unread_lines.principals),
            brokers=None if logs is None else len(logs),
        )
        for_gold = cache(
            lambda: replace(
                for_basis(),
                known_days=found["days"].to_arrow(),
                undated=(),
                lacking=proof.lacking,
                doubtful=proof.doubtful,
                lost_lines=proof.lost_lines,
                unread=self._unread_lines,
                brokers=None if logs is None else len(logs),
                thresholds=request.thresholds,
                sensitive=request.sensitive,
            )
        )
        for job in gold.GOLD_JOBS:
            rows.update(self._make(job, for_gold, values))
        return rows, proof

    def _read_new(self, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return a table, or some columns of it, as this change leaves it."""
        return contents.read_files(self._tables.root, table, self._change.files(table), columns)

    def _make(
        self, job: GoldJob, asked: Callable[[], GoldInput], values: dict[str, Any]
    ) -> dict[str, int]:
        """Make the tables of a job, or keep them; return their numbers of rows."""
        digest = job.digest(values)
        self._digests[job.function] = digest
        if self._made.get(job.function) == digest and all(map(self._tables.parts, job.tables)):
            self._around.tell(f"gold: nothing is new for {', '.join(job.tables)}")
            return {name: self._count(name) for name in job.tables}
        found = asked()
        self._around.tell(f"gold: {', '.join(job.tables)}")
        return self._write_gold(job.make(found))

    def _count(self, table: str) -> int:
        """Return how many rows of a table are about the cluster, as the last run left it."""
        clusters = self._tables.read(table, (CLUSTER.name,))
        return len(self._cluster.own(clusters))

    def _gold_input(self, bindings: pl.DataFrame) -> GoldInput:
        """Return the input of the jobs; sum up the distinct decisions that are new."""
        self._around.tell("summing up distinct decisions")
        request, engine = self._request, self._around.engine
        last = sums.covered_by(self._made)
        files, covered = sums.up_to_date(
            self._change, engine, self._started.date(), self._cluster, last
        )
        self._digests[sums.TABLE] = covered.text()
        asked = GoldInput(
            engine=engine,
            decisions=tuple(map(self._tables.place_of, self._own_decisions())),
            sums=files,
            bindings=bindings.to_arrow(),
            policy=request.policy,
            networks=request.networks,
            since=request.since,
            together=gold.TOGETHER,
        )
        return self._with_known_days(asked)

    def _with_known_days(self, asked: GoldInput) -> GoldInput:
        """Add the rows of the table days that the last run made of the same decisions."""
        last = self._cluster.files_of(self._tables.parts("decisions"))
        before, now = (
            {
                day: list(parts)
                for day, parts in groupby(found, lambda part: places.day_of(part.path))
            }
            for found in (last, self._own_decisions())
        )
        values = {
            "decisions": _names_digest(last),
            "version": self._around.version,
            "cluster": self._cluster.name,
        }
        job = gold.DAYS_JOB
        if self._made.get(job.function) != job.digest(values):
            return asked
        same = {day for day, parts in now.items() if before.get(day) == parts}
        days = self._cluster.own(self._tables.read("days")).drop(CLUSTER.name)
        return replace(
            asked,
            known_days=days.filter(pl.col("day").cast(pl.String).is_in(same)).to_arrow(),
            undated=tuple(
                self._tables.place_of(part)
                for day, parts in now.items()
                if day not in same
                for part in parts
            ),
        )

    def _write_gold(self, tables: Mapping[str, pa.Table]) -> dict[str, int]:
        rows = {}
        for table, found in tables.items():
            frame = self._with_name(contents.as_frame(table, found))
            self._warn(contents.check(table, frame).items())
            others = self._cluster.others(
                contents.read_files(self._tables.root, table, self._change.files(table))
            )
            self._change.replace(table, pl.concat([others, frame]))
            rows[table] = len(frame)
        return rows

    def _warn_of_evidence(self, proof: Evidence) -> None:
        self._texts += proof.causes
        if doubt := describe_doubt(proof.doubtful):
            self._texts.append(doubt)
        self._texts += describe_unread(self._unread_lines)
        self._texts += (f"RISK: {each}" for each in self._request.thresholds.lowered())
        self._texts += (f"not enough evidence to remove an ACL: {each}" for each in proof.lacking)
        if proof.unchecked:
            self._texts.append(f"not checked: {proof.unchecked}")

    def _row(self, work: manifest.Work, results: dict[str, list[ReadResult]]) -> dict[str, Any]:
        every = [result for found in results.values() for result in found]
        return {
            "run_id": self._around.run_id,
            "command": "run",
            "engine": self._around.engine.name,
            "master": self._around.engine.master,
            "version": self._around.version,
            "cluster": self._cluster.name,
            "started": self._started,
            "finished": self._around.now(),
            "files_read": len(work.read),
            "files_unchanged": len(work.unchanged) + len(work.moved),
            "lines": sum(result.lines for result in every),
            "decisions": sum(result.decisions for result in every),
            "copied": self._copied,
            "ignored": sum(result.ignored for result in every),
            "quarantined": sum(result.quarantined for result in every),
            "listed": times_of(self._request.acls, self._started),
            "asked": json.dumps(self._asked, sort_keys=True),
            "digests": json.dumps(self._digests, sort_keys=True),
            "warnings": [
                *(f"{name}: {count}" for name, count in sorted(self._warnings.items())),
                *self._texts,
            ],
        }

    def _write_manifest(self, files: dict[str, dict[str, Any]], row: dict[str, Any]) -> None:
        for table, rows in (
            ("files", [files[file_id] for file_id in sorted(files)]),
            ("runs", [*self._tables.read("runs").to_dicts(), row]),
        ):
            schema = contents.schema_of(table)
            frame = contents.as_frame(table, pl.DataFrame(rows, schema=schema, orient="row"))
            contents.check(table, frame)
            if not frame.equals(self._tables.read(table)):
                self._change.replace(table, frame)

    def _warn(self, warnings: Iterable[tuple[str, int]]) -> None:
        for name, count in warnings:
            self._warnings[name] = self._warnings.get(name, 0) + count


def _names_digest(parts: Iterable[DataFile]) -> str:
    """Return a digest of files of a table: they have random names, and never change."""
    names = "\n".join(part.path for part in parts)
    return hashlib.sha256(names.encode()).hexdigest()


def _rows_digest(rows: pl.DataFrame) -> str:
    """Return a digest of rows, of whose table other clusters have a part."""
    return hashlib.sha256(rows.write_ndjson().encode()).hexdigest()


def _refuse(failures: Iterable[str]) -> None:
    found = list(failures)
    if not found:
        return
    more = len(found) - FAILURES_TOLD
    told = found[:FAILURES_TOLD] + ([f"and {more} more"] if more > 0 else [])
    raise (Unreadable if len(found) == 1 else PipelineError)("\n".join(told))
