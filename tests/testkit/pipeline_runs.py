"""Runs of the pipeline over lines of a test."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.jobs.request import RunRequest, RunSummary, Surroundings
from doorkeeper_pipeline.jobs.run import run, run_if_new
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import delta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


OF_THE_RUN = {"first_seen", "known_from"}
"""Columns that say when a run was: that found a finding, or was given the ACLs."""

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)


def silver_and_gold(out: Path | str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of silver and gold, which two runs over the same files have in common."""
    tables = delta.Tables(out)
    return {
        name: tables.read(name).drop(OF_THE_RUN, strict=False).to_dicts()
        for name, table in TABLES.items()
        if table.layer in {"silver", "gold"}
    }


def record(name: str, time: str = "2026-11-22 07:10:00,000", user: str = "alice") -> str:
    """Return a line of kafka-authorizer.log: a refused READ."""
    return (
        f"[{time}] INFO Principal = User:{user} is Denied operation = READ from host = 10.0.0.7"
        f" on resource = Topic:LITERAL:{name} for request = Fetch with resourceRefCount = 1"
        " based on rule DefaultDeny (kafka.authorizer.logger)\n"
    )


def confluent_event(cluster: str, name: str, time: str = "2026-11-22T07:10:00Z") -> str:
    """Return a line of Confluent's audit log: a refused READ."""
    return (
        '{"specversion": "1.0", "id": "' + name + '", "source": "crn://confluent.cloud/kafka='
        f'{cluster}", "type": "io.confluent.kafka.server/authorization",'
        f' "time": "{time}", "data": {{"methodName": "kafka.Fetch",'
        ' "authenticationInfo": {"principal": "User:1"}, "authorizationInfo": {"granted": false,'
        ' "operation": "Read", "resourceType": "Topic", "resourceName": "' + name + '"}}}\n'
    )


@contextmanager
def restored(folder: Path, copy: Path) -> Iterator[None]:
    """Put a folder back as it was before the block: quicker than to make its tables anew.

    Files keep their inodes, by which a run knows which logs it has read.
    """
    shutil.copytree(folder, copy, copy_function=os.link)
    files = [path for path in copy.rglob("*") if path.is_file()]
    before = [(path, path.read_bytes(), path.stat()) for path in files]
    try:
        yield
    finally:
        for path, data, status in before:
            path.write_bytes(data)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        shutil.rmtree(folder)
        shutil.move(copy, folder)


class Output:
    """An output folder, into which a test runs the pipeline several times."""

    def __init__(self, out: Path, *inputs: str) -> None:
        """Take the folder and the usual inputs."""
        self.out = out
        self.inputs = inputs
        self._runs = itertools.count(1)

    def run(
        self,
        *inputs: str,
        checkpoint: Callable[[str], None] = lambda _: None,
        tell: Callable[[str], None] = lambda _: None,
        engine: Engine | None = None,
        version: str = "1",
        **options: Any,
    ) -> RunSummary:
        """Run with the usual inputs, unless others are given."""
        around = self._around(
            engine=engine or Engine(), version=version, tell=tell, checkpoint=checkpoint
        )
        return run(self._request(*inputs, **options), around)

    def run_if_new(self, *inputs: str, **options: Any) -> RunSummary | None:
        """Run if there is something new."""
        around = self._around(engine=Engine(), version="1", tell=lambda _: None)
        return run_if_new(self._request(*inputs, **options), around)

    def _request(self, *inputs: str, **options: Any) -> RunRequest:
        return RunRequest(**{"out": self.out, "inputs": inputs or self.inputs, **options})

    def _around(self, **given: Any) -> Surroundings:
        return Surroundings(now=lambda: NOON, run_id=f"run-{next(self._runs)}", **given)

    def counts(self) -> dict[str, int]:
        """Return how often each name was refused."""
        rows = delta.Tables(self.out).read("decisions")
        counts = rows.group_by("resource_name").agg(pl.col("count").sum())
        return dict(counts.select("resource_name", "count").rows())
