"""Checks that all inputs of an output folder belong together, and the cluster that is asked about.

They look at the rows of the table ``files``: of this run and of all earlier ones, since the
decisions of a log that was deleted stay.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import polars as pl

from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.tables import places
from doorkeeper_pipeline.tables.delta import DataFile, Tables

File = Mapping[str, Any]

Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)

LISTED_MAX = 5
AUTHORIZER_LOG = "authorizer-log"
"""The source of logs of Kafka's authorizer, as in ``sources.recognising``."""


def check_logs(files: Iterable[File]) -> None:
    """Check that no authorizer log covers a time that an audit log covers.

    A server that writes both records each decision in both, at times that differ by some
    milliseconds and merged in different ways, so that equal decisions cannot be told apart from
    repeated ones.

    Raises:
        Conflicting: one does; names the first two such files.

    """
    dated = [file for file in files if file["first_ts"] is not None]
    dated.sort(key=lambda file: (file["first_ts"], file["path"]))
    logs = [file for file in dated if file["source"] == AUTHORIZER_LOG]
    for audit in dated:
        if audit["source"] == AUTHORIZER_LOG:
            continue
        for log in logs:
            begin = max(audit["first_ts"], log["first_ts"])
            end = min(audit["last_ts"], log["last_ts"])
            if begin <= end:
                raise Conflicting(
                    f"{audit['path']} ({audit['source']}) and {log['path']} ({log['source']})"
                    f" both have decisions from {_text(begin)} to {_text(end)} UTC, which would"
                    " count twice if one server wrote both. Omit the authorizer log (the audit"
                    " log contains all of it and cannot be forged), or add --different-servers if"
                    " different servers wrote them"
                )


class Cluster(NamedTuple):
    """The cluster that is asked about.

    ``name`` is the id that its events have, or a name of the user's where they have none, or empty.
    ``ids`` are the ids of all clusters where there are several. ``before`` is the cluster of rows
    that have no name: those of a release that did not know it, or from before it was named.
    """

    name: str
    ids: tuple[str, ...] = ()
    before: str = ""

    def has_file(self, path: str) -> bool:
        """Return whether decisions at a path are of the cluster."""
        return not self.ids or places.is_of_cluster(path, self.name)

    def files_of(self, parts: Iterable[DataFile]) -> list[DataFile]:
        """Return those of some files of decisions that are of the cluster."""
        return [part for part in parts if self.has_file(part.path)]

    def own(self, rows: Rows) -> Rows:
        """Return the rows of a table that are about the cluster."""
        return rows.filter(self._names() == self.name)

    def named(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(cluster=pl.lit(self.name))

    def replaced(self, table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """Return a table with these rows in place of those about the cluster."""
        names = self._names()
        others = table.filter((names != self.name) & names.is_in(self.ids))
        return pl.concat([others.with_columns(cluster=names), self.named(rows)])

    def _names(self) -> pl.Expr:
        cluster = pl.col("cluster").fill_null("")
        return pl.when(cluster == "").then(pl.lit(self.before)).otherwise(cluster)


def expect_cluster(files: Iterable[File], requested: str, known: str) -> Cluster:
    """Return the cluster that a run will be about, before its inputs are read.

    ``files`` are the rows of earlier runs, ``known`` is the name that the last one had.
    """
    ids = {cluster for file in files for cluster in file["clusters"] or ()}
    only = next(iter(ids)) if len(ids) == 1 else ""
    name = requested or only or known
    return Cluster(name, (), only if ids else name)


def choose_cluster(
    files: Iterable[File], requested: str, expected: Cluster, known: str = ""
) -> Cluster:
    """Return the cluster that is asked about: the given one, or the only one that there is.

    ``known`` is the name that the last run had.

    Raises:
        Conflicting: there are several, and none of them is given, or a file does not name its own;
            or the tables are about another one.

    """
    paths: dict[str, str] = {}
    unnamed = ""
    for file in files:
        if file["decisions"] and not file["clusters"]:
            unnamed = file["path"]
        for cluster in file["clusters"] or ():
            paths.setdefault(cluster, file["path"])
    if not paths and known and requested and known != requested:
        raise Conflicting(
            f"--cluster-name: found {requested!r}, but these tables belong to cluster {known!r};"
            " use separate --tables for each cluster"
        )
    if not paths:
        return expected
    named = [f"{cluster} (in {paths[cluster]})" for cluster in sorted(paths)]
    more = [f"and {len(named) - LISTED_MAX} more"] if len(named) > LISTED_MAX else []
    listed = ", ".join([*named[:LISTED_MAX], *more])
    if requested and requested not in paths:
        raise Conflicting(
            f"--cluster-name: found {requested!r}, but the events belong to cluster {listed}"
        )
    if len(paths) == 1:
        return expected._replace(name=next(iter(paths)), before=next(iter(paths)))
    if unnamed:
        raise Conflicting(
            f"the events belong to {len(paths)} clusters: {listed}, and {unnamed} does not name its"
            " cluster; use separate --tables for it"
        )
    if not requested:
        raise Conflicting(
            f"the events belong to {len(paths)} clusters: {listed}; select one with --cluster-name"
        )
    return expected._replace(name=requested, ids=tuple(sorted(paths)))


def cluster_in(tables: Tables, requested: str) -> Cluster:
    """Return the cluster that is asked about after runs: the given one, or the only one.

    Raises:
        Conflicting: there are several, and none of them is given; or the given one is not there.

    """
    files = tables.read("files").to_dicts()
    known = known_name(tables)
    return choose_cluster(files, requested, expect_cluster(files, requested, known), known)


def known_name(tables: Tables) -> str:
    """Return the name of the cluster of the last run; empty without one."""
    named = tables.read("runs")["cluster"].drop_nulls().to_list()
    return str(named[-1]) if named else ""


def _text(time: dt.datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"
