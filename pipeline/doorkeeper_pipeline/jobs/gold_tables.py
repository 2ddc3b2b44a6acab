"""The gold tables of a run: those that depend on something that changed are made anew."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from typing import Any

import polars as pl

from doorkeeper_pipeline.columns import CLUSTER
from doorkeeper_pipeline.evaluation.evidence import BrokerLog, Evidence
from doorkeeper_pipeline.evaluation.unread import UnreadLines
from doorkeeper_pipeline.jobs import gold, sums
from doorkeeper_pipeline.jobs.belonging import Cluster
from doorkeeper_pipeline.jobs.forgotten import last_forgotten
from doorkeeper_pipeline.jobs.gold import GoldInput, GoldJob
from doorkeeper_pipeline.jobs.observed import BASIS, evidence_in
from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import Change, DataFile

EMPTY_SET = (
    "the given set of ACLs is empty, perhaps a failed listing; omit --acls if the cluster has no"
    " ACLs"
)


@dataclass(slots=True)
class GoldTables:
    """Makes the gold tables of a cluster as part of a change.

    ``made`` are the digests of the last run, ``digests`` those of this one; ``warnings`` counts the
    rules of tables that rows break.
    """

    request: RunRequest
    around: Surroundings
    change: Change
    cluster: Cluster
    made: Mapping[str, str]
    started: dt.datetime
    digests: dict[str, str] = field(default_factory=dict, init=False)
    warnings: Counter[str] = field(default_factory=Counter, init=False)

    def _own_decisions(self) -> list[DataFile]:
        """Return the files of the decisions of the cluster."""
        return self.cluster.files_of(self.change.parts("decisions"))

    def make(
        self,
        bindings: pl.DataFrame,
        logs: tuple[BrokerLog, ...] | None,
        unread: UnreadLines,
        *,
        empty_set: bool,
    ) -> tuple[dict[str, int], Evidence]:
        """Make the tables; return their numbers of rows, and the evidence in the history.

        ``logs`` are those of brokers, ``unread`` the lines that were not read for certain, and
        ``empty_set`` says that the ACLs that were given are none.
        """
        request = self.request
        self.digests.update((name, text) for name, text in self.made.items() if name == sums.TABLE)
        own = bindings.drop(CLUSTER.name)  # other clusters have a part of the table
        values = {
            **request.kept().values(),
            "since": None if request.since is None else request.since.isoformat(),
            "decisions": sums.digest_of(self._own_decisions()),
            "bindings": hashlib.sha256(own.write_ndjson().encode()).hexdigest(),
            "cluster": self.cluster.name,
            "version": self.around.version,
        }
        rows = {"bindings": len(bindings)}
        for_basis = cache(lambda: self._gold_input(bindings))
        for job in gold.BASIS_JOBS:
            rows.update(self._make(job, for_basis, values))
        basis = {
            name: self.cluster.own(self.change.read(name)).drop(CLUSTER.name) for name in BASIS
        }
        proof = evidence_in(
            basis,
            request.policy,
            request.thresholds,
            has_acls=bindings["valid_to"].null_count() > 0,
            logs=logs,
            now=self.started,
            unread=unread,
        )
        if empty_set:
            # As a listing is that failed: then nothing is known about grants.
            proof = proof._replace(causes=(EMPTY_SET, *proof.causes), contradicts=True)
        values.update(
            lacking=proof.lacking,
            doubtful=sorted(proof.doubtful),
            lost_lines=proof.lost_lines,
            unread=[sorted(unread.principals), any(unread)],
            brokers=proof.observed.brokers,
            gaps=[sorted(map(str, days)) for days in proof.observed.gaps],
        )
        for_gold = cache(
            lambda: replace(
                for_basis(),
                known_days=basis["days"],
                undated=(),
                proof=proof,
                unread=unread,
                thresholds=request.thresholds,
                sensitive=request.sensitive,
            )
        )
        for job in gold.GOLD_JOBS:
            rows.update(self._make(job, for_gold, values))
        return rows, proof

    def _make(
        self, job: GoldJob, asked: Callable[[], GoldInput], values: dict[str, Any]
    ) -> dict[str, int]:
        """Make the tables of a job, or keep them; return their numbers of rows."""
        digest = job.digest(values)
        self.digests[job.function] = digest
        if self.made.get(job.function) == digest and all(map(self.change.tables.parts, job.tables)):
            self.around.tell(f"summary tables unchanged: {', '.join(job.tables)}")
            return {name: self._count(name) for name in job.tables}
        gold_input = asked()
        self.around.tell(f"summary tables: {', '.join(job.tables)}")
        return self._write_gold(job.make(gold_input))

    def _count(self, table: str) -> int:
        """Return how many rows of a table are about the cluster, as the last run left it."""
        clusters = self.change.tables.read(table, (CLUSTER.name,))
        return len(self.cluster.own(clusters))

    def _gold_input(self, bindings: pl.DataFrame) -> GoldInput:
        """Return the input of the jobs; sum up the distinct decisions that are new."""
        self.around.tell("summing up distinct decisions")
        request, engine = self.request, self.around.engine
        parts, self.digests[sums.TABLE] = sums.up_to_date(
            self.change, engine, self.cluster, self.made.get(sums.TABLE, "")
        )
        asked = GoldInput(
            engine=engine,
            decisions=tuple(map(self.change.tables.place_of, self._own_decisions())),
            sums=parts,
            bindings=bindings,
            policy=request.policy,
            networks=request.networks,
            since=request.since,
            forgotten=last_forgotten(self.change.tables.read("runs")),
            together=gold.TOGETHER,
        )
        return self._with_known_days(asked)

    def _with_known_days(self, asked: GoldInput) -> GoldInput:
        """Add the rows of the table days that the last run made of the same decisions."""
        last = self.cluster.files_of(self.change.tables.parts("decisions"))
        before, now = (
            {
                day: list(parts)
                for day, parts in groupby(files, lambda part: places.day_of(part.path))
            }
            for files in (last, self._own_decisions())
        )
        values = {
            "decisions": sums.digest_of(last),
            "version": self.around.version,
            "cluster": self.cluster.name,
        }
        job = gold.DAYS_JOB
        if self.made.get(job.function) != job.digest(values):
            return asked
        same = {day for day, parts in now.items() if before.get(day) == parts}
        days = self.cluster.own(self.change.tables.read("days")).drop(CLUSTER.name)
        return replace(
            asked,
            known_days=days.filter(pl.col("day").cast(pl.String).is_in(same)),
            undated=tuple(
                self.change.tables.place_of(part)
                for day, parts in now.items()
                if day not in same
                for part in parts
            ),
        )

    def _write_gold(self, tables: Mapping[str, pl.DataFrame]) -> dict[str, int]:
        rows = {}
        for table, result in tables.items():
            frame = self.cluster.named(contents.as_frame(table, result))
            self.warnings.update(contents.check(table, frame))
            rows[table] = len(frame)
            if self.cluster.ids:
                frame = self.cluster.replaced(self.change.read(table), frame)
            self.change.replace(table, frame)
        return rows
