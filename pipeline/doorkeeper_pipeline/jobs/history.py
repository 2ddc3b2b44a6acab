"""The history that an output folder holds, for commands that ask it something after a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from doorkeeper_pipeline.columns import CLUSTER
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.evaluation.evidence import BrokerLog
from doorkeeper_pipeline.evaluation.unread import unread_in_files
from doorkeeper_pipeline.jobs import sums
from doorkeeper_pipeline.jobs.belonging import cluster_in
from doorkeeper_pipeline.jobs.broker_logs import broker_logs
from doorkeeper_pipeline.jobs.forgotten import last_forgotten, restarted
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.request import last_options
from doorkeeper_pipeline.sources import acl_sets
from doorkeeper_pipeline.tables import contents
from doorkeeper_pipeline.tables.delta import Change, Tables
from doorkeeper_pipeline.tables.locking import lock


def history(
    out: Path | str,
    engine: Engine,
    acls: Sequence[str] = (),
    cluster: str = "",
) -> GoldInput:
    """Return the input of gold jobs, from the tables of an output folder.

    Policy and limits are those of the last run. ``acls`` stand in place of the table bindings where
    they are given. ``cluster`` is empty for the only one.

    Raises:
        Conflicting: there are several clusters, and none of them is given.
        PipelineError: the folder has no decisions.

    """
    tables = Tables(out)
    options = last_options(out, cluster)
    chosen = cluster_in(tables, cluster)
    decisions = list(map(tables.place_of, chosen.files_of(tables.parts("decisions"))))
    if not decisions:
        raise PipelineError(
            f"{out}: found no decisions; create them with: doorkeeper-pipeline run --log ..."
            f" --tables {out}"
        )
    bindings = acl_sets.read(acls) if acls else chosen.own(tables.read("bindings"))
    files = tables.read("files").to_dicts()
    days = chosen.own(tables.read("days")).drop(CLUSTER.name)
    runs = tables.read("runs")
    return GoldInput(
        engine=engine,
        decisions=tuple(decisions),
        sums=sums.parts_of(tables, chosen),
        known_days=days if tables.parts("days") else None,
        bindings=restarted(bindings, runs),
        forgotten=last_forgotten(runs),
        policy=options.policy,
        networks=options.networks,
        thresholds=options.thresholds,
        unread=unread_in_files(files, chosen.name),
    )


def logs_of(out: Path | str) -> tuple[BrokerLog, ...] | None:
    """Return the logs of brokers that the tables of an output folder were made of."""
    return broker_logs(Tables(out).read("files").to_dicts())


def keep(out: Path | str, tables: Mapping[str, pl.DataFrame], cluster: str = "") -> None:
    """Write gold tables of a cluster into an output folder; empty stands for the only one.

    Raises:
        PipelineError: rows are not as they must be.
        Busy: another process writes there.

    """
    frames = {name: contents.as_frame(name, rows) for name, rows in tables.items()}
    for name, frame in frames.items():
        contents.check(name, frame)
    with lock(out):
        change = Change(Tables(out))
        chosen = cluster_in(change.tables, cluster)
        for name, frame in frames.items():
            change.replace(name, chosen.replaced(change.tables.read(name), frame))
        change.commit()
