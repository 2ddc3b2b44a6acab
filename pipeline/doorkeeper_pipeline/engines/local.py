"""The engine without a JVM: Polars in this process, a task after the other.

Polars itself uses every core inside a task, so tasks in parallel would win little and hold more
memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.engines.contract import (
    DISTINCT,
    Engine,
    RemoteFile,
    Result,
    Shared,
    Task,
)
from doorkeeper_pipeline.engines.tuples import distinct
from doorkeeper_pipeline.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
    from doorkeeper_pipeline.topics.lines import RecordLines
    from doorkeeper_pipeline.topics.ranges import RecordRange


KEPT_BYTES = 128 << 20
"""How much of the distinct decisions is kept between jobs: a million of them. The answers of sets
of ACLs to them, kept beside them, take as much again."""


class LocalEngine(Engine):
    """Runs every task here."""

    name = "local"
    master = ""

    def __init__(self) -> None:
        """Begin with no decisions."""
        self._kept: dict[tuple[tuple[str, ...], tuple[str, ...]], DecisionTable] = {}

    def map(
        self,
        function: Callable[[Shared, Task], Result],
        tasks: Sequence[Task],
        shared: Shared,
    ) -> Iterator[Result]:
        """Yield ``function(shared, task)`` of every task, in their order."""
        for task in tasks:
            yield function(shared, task)

    def over_tuples(
        self,
        files: Sequence[str],
        function: Callable[[Shared, DecisionTable], pa.Table],
        shared: Shared,
        schema: pa.Schema,
        by: Sequence[str] = DISTINCT,
    ) -> pa.Table:
        """Apply the function once, to all distinct decisions, sorted by principal."""
        if not files:
            return schema.empty_table()
        return function(shared, self._distinct(tuple(files), tuple(by))).cast(schema)

    def _distinct(self, files: tuple[str, ...], by: tuple[str, ...]) -> DecisionTable:
        """Return the distinct decisions of files; those of an earlier call again.

        Files never change, and several jobs ask for the same columns. The oldest tables go where
        all would take more than KEPT_BYTES.
        """
        # It imports numpy, which a run with nothing new does without.
        from doorkeeper_pipeline.evaluation.decision_table import DecisionTable

        key = (files, by)
        found = self._kept.pop(key, None)
        if found is None:
            tuples = distinct(_scan(files), by).sort(by[0]).collect()
            found = DecisionTable(plain(tuples.to_arrow()))
        self._kept[key] = found
        while sum(each.rows.nbytes for each in self._kept.values()) > KEPT_BYTES:
            del self._kept[next(iter(self._kept))]
        return found

    def list_remote(self, addresses: Sequence[str]) -> list[RemoteFile]:
        """Refuse addresses: only Spark has their file systems.

        Raises:
            Unreadable: there are some.

        """
        if addresses:
            raise Unreadable(
                f"{addresses[0]}: the local engine reads paths of this machine only: mount the"
                " storage, or add --engine spark"
            )
        return []

    def over_files(
        self,
        function: Callable[[Task, Path], Result],
        tasks: Mapping[str, Task],
    ) -> Iterator[Result]:
        """Yield nothing: no file was listed."""
        assert not tasks
        return iter(())

    def over_records(
        self,
        function: Callable[[Task, RecordLines], Result],
        tasks: Sequence[tuple[RecordRange, Task]],
    ) -> Iterator[Result]:
        """Yield the results of the function over each range, one after the other."""
        if not tasks:
            return
        from doorkeeper_pipeline.topics.consumer import Consumer
        from doorkeeper_pipeline.topics.lines import RecordLines

        by_cluster: dict[tuple[str, str], list[tuple[RecordRange, Task]]] = {}
        for wanted, task in tasks:
            key = (wanted.address.servers, wanted.config)
            by_cluster.setdefault(key, []).append((wanted, task))
        for (servers, config), ours in by_cluster.items():
            with Consumer(servers, config) as consumer:
                for wanted, task in ours:
                    with RecordLines() as lines:
                        for records in consumer.read(wanted):
                            lines.add(records)
                        yield function(task, lines.complete())

    def close(self) -> None:
        """Nothing is to be ended."""


def _scan(files: Sequence[str]) -> pl.LazyFrame:
    """Return the rows of files, of which some may have columns that came later."""
    return pl.scan_parquet(
        list(files),
        hive_partitioning=False,
        glob=False,
        missing_columns="insert",
        extra_columns="ignore",
    )


def plain(table: pa.Table) -> pa.Table:
    """Return a table whose texts are plain strings, as Spark gives them too."""
    import pyarrow as pa

    fields = [
        pa.field(field.name, pa.string(), field.nullable)
        if pa.types.is_large_string(field.type) or pa.types.is_string_view(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
