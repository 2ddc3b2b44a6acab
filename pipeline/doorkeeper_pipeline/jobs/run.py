"""Everything in one go: new input files to bronze, days to silver, and the gold tables anew.

Nothing of the output folder changes before all of it is there: then one commit swaps it in.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from doorkeeper_pipeline.columns import CLUSTER
from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.evaluation.evidence import describe_doubt
from doorkeeper_pipeline.evaluation.unread import (
    NOTHING_UNREAD,
    describe_unread,
    unread_in_files,
)
from doorkeeper_pipeline.jobs import causes, seen, silver
from doorkeeper_pipeline.jobs.belonging import (
    check_logs,
    choose_cluster,
    expect_cluster,
    known_name,
)
from doorkeeper_pipeline.jobs.broker_logs import broker_logs
from doorkeeper_pipeline.jobs.causes import LeftOut, leave_out
from doorkeeper_pipeline.jobs.findings import groups_of, lines_of
from doorkeeper_pipeline.jobs.forgotten import last_forgotten, restarted
from doorkeeper_pipeline.jobs.gold_tables import GoldTables
from doorkeeper_pipeline.jobs.inputs import Inputs
from doorkeeper_pipeline.jobs.request import RunSummary
from doorkeeper_pipeline.jobs.silver import build_span
from doorkeeper_pipeline.jobs.succession import follow_places
from doorkeeper_pipeline.sources.acl_places import digest_of, times_of
from doorkeeper_pipeline.tables import contents, manifest, places
from doorkeeper_pipeline.tables.delta import Change, Tables, clean
from doorkeeper_pipeline.tables.locking import lock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper_pipeline.evaluation.evidence import Evidence
    from doorkeeper_pipeline.jobs.read import ReadResult
    from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings

REASONS_TOLD = 3
_ACLS = "acls"
"""The name of the digest of the sets of ACLs that were given."""


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
    if seen.unchanged(request, around.version):
        return None
    return _change_tables(request, around, only_news=True)


def _change_tables(
    request: RunRequest, around: Surroundings, *, only_news: bool
) -> RunSummary | None:
    with lock(request.out, around.tell):
        there = seen.look(request, around.version)
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
            last = summary.evidence.observed.last
            # A decision in the future counts when its time has come.
            there = "" if last is not None and last > summary.run["started"] else there
            contradicts = summary.evidence.contradicts
            seen.keep(request.out, there, summary.run["started"], contradicts=contradicts)
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
        self._inputs = Inputs(request, around, change, self._known)
        self._warnings: Counter[str] = Counter()
        self._copied = 0
        self._texts: list[str] = []
        self._unread_lines = NOTHING_UNREAD
        self._empty_set = False
        self._cluster = expect_cluster(self._known, request.cluster, known_name(tables))
        runs = tables.read("runs")
        own = self._cluster.own(runs).filter(pl.col("command") == "run")
        made = own["digests"].to_list()[-1:]
        self._made: dict[str, str] = json.loads(made[0]) if any(made) else {}
        self._digests: dict[str, str] = {}
        times = own["started"].to_list()
        self._before = max(times, default=None)
        self._runs = runs

    def whole(self, *, only_news: bool) -> RunSummary | None:
        """Do all steps, then commit; ``only_news``: nothing where no input or ACL is new."""
        if not self._request.inputs and not self._tables.parts("decisions"):
            raise Conflicting(
                f"--log is missing, and {self._request.out} has no decisions of earlier runs"
            )
        # A set of ACLs that is missing or wrong is found before the logs are read.
        bindings = self._bindings()
        work = self._inputs.compare()
        if only_news and not work.read and not self._is_other(bindings):
            return None
        return self._whole(bindings, work)

    def _whole(self, bindings: pl.DataFrame, work: manifest.Work) -> RunSummary:
        results = self._inputs.read(work)
        files = self._inputs.rows(work, results)
        if not self._request.different_servers:
            check_logs(files.values())
        self._cluster = choose_cluster(
            files.values(), self._request.cluster, self._cluster, known_name(self._tables)
        )
        self._write_bindings(bindings)
        self._unread_lines = unread_in_files(files.values(), self._cluster.name)
        self._decisions(work, files)
        rows = {"decisions files": len(self._change.parts("decisions"))}
        tables = GoldTables(
            self._request, self._around, self._change, self._cluster, self._made, self._started
        )
        gold_rows, proof = tables.make(
            restarted(bindings, self._runs),
            broker_logs(files.values()),
            self._unread_lines,
            empty_set=self._empty_set,
        )
        rows.update(gold_rows)
        self._digests |= tables.digests
        self._warnings = self._warnings + self._inputs.warnings + tables.warnings
        summarized = self._summarized()
        findings = self._findings(summarized)
        rows["findings"] = findings["gone"].null_count()
        self._warn_of_evidence(proof)
        row = self._row(work, results)
        self._write_manifest(files, row)
        self._around.tell("committing the new tables")
        self._change.commit(self._around.checkpoint)
        gone = tuple(sorted(file["path"] for file in work.gone))
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
            name: self._cluster.own(self._change.read(name, (*columns, CLUSTER.name)))
            for name, columns in causes.SOURCES.items()
        }

    def _findings(self, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Return the table findings after this run; write it where it is another one, or new."""
        before = self._tables.read("findings")
        own = self._cluster.own(before)
        now = self._cluster.named(causes.follow(own, causes.search(tables), self._started))
        if not now.equals(own) or not self._tables.parts("findings"):
            contents.check("findings", now)
            self._change.replace("findings", self._cluster.replaced(before, now))
        return now

    def _unread(self, work: manifest.Work) -> tuple[tuple[str, int], ...]:
        """Return the most frequent reasons of lines that were read now and went to quarantine."""
        read = [file_id for file_id, _ in work.read]
        rows = self._change.read("quarantine", ("file_id", "reason"))
        return tuple(
            rows.filter(pl.col("file_id").is_in(read))
            .group_by("reason")
            .len()
            .sort(["len", "reason"], descending=[True, False])
            .head(REASONS_TOLD)
            .iter_rows()
        )

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
        for parts, copied in self._around.engine.map(build_span, tasks, self._tables.root):
            self._copied += copied
            self._change.add(parts)

    def _bindings(self) -> pl.DataFrame:
        """Return the table bindings after the sets that were given, read if they are others."""
        before = self._cluster.own(self._tables.read("bindings"))
        acls = self._request.acls
        last = self._made.get(_ACLS, "")
        content = digest_of(acls) if acls else ""
        digest = f"{content} {self._around.version}" if content else ""
        self._digests[_ACLS] = digest if acls else last
        if not acls:
            return before
        forgotten = last_forgotten(self._runs)
        has_all = forgotten is None or (self._before is not None and self._before > forgotten)
        if digest and digest == last and has_all:
            bindings = before
        else:
            self._around.tell("reading the ACLs")
            bindings = follow_places(before, acls, self._started)
        if bindings.filter(pl.col("valid_to").is_null()).is_empty():
            self._empty_set = True
        self._warnings.update(contents.check("bindings", bindings))
        return bindings

    def _is_other(self, bindings: pl.DataFrame) -> bool:
        """Return whether bindings differ from those of the last run."""
        before = self._cluster.own(self._tables.read("bindings"))
        return not self._cluster.named(bindings).equals(self._cluster.named(before))

    def _write_bindings(self, bindings: pl.DataFrame) -> None:
        """Write the bindings of the cluster if they are others, or have another name."""
        before = self._tables.read("bindings")
        now = self._cluster.replaced(before, bindings)
        if not now.equals(before):
            self._change.replace("bindings", now)

    def _warn_of_evidence(self, proof: Evidence) -> None:
        self._texts += proof.causes
        self._texts += describe_doubt(proof.doubtful)
        self._texts += describe_unread(self._unread_lines)
        self._texts += (f"RISK: {limit}" for limit in self._request.thresholds.lowered())
        self._texts += (
            f"not enough evidence to remove an ACL: {reason}" for reason in proof.lacking
        )
        if proof.unchecked:
            self._texts.append(f"not checked: {proof.unchecked}")

    def _row(self, work: manifest.Work, results: dict[str, ReadResult]) -> dict[str, Any]:
        every = results.values()
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
            "files_unchanged": len(work.unchanged),
            "lines": sum(result.lines for result in every),
            "decisions": sum(result.decisions for result in every),
            "copied": self._copied,
            "ignored": sum(result.ignored for result in every),
            "quarantined": sum(result.quarantined for result in every),
            "listed": times_of(self._request.acls, self._started),
            "asked": json.dumps(self._request.kept().values(), sort_keys=True),
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
