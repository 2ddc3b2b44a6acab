"""The engine that runs on Spark: a laptop with ``local[*]``, or any cluster.

Tasks are partitions. They read and write files themselves, columnar, and give back small results:
the lines of a log never pass through the JVM's rows, which is most of the cost of a text source.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.engines.contract import TUPLE, Engine, Result, Shared, Task
from doorkeeper_pipeline.engines.session import LOCAL_MASTER, package_archive, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession


_OF_PATTERNS = re.compile(r"([\[\]{}*?\\])")


class SparkEngine(Engine):
    """Runs every task as a partition of a Spark job."""

    name = "spark"

    def __init__(self, master: str = LOCAL_MASTER, *, send_packages: bool | None = None) -> None:
        """Start Spark; to a cluster our packages are sent, unless it is said otherwise."""
        self.master = master
        self.session: SparkSession = start(master, "doorkeeper-pipeline")
        self._folder = tempfile.TemporaryDirectory(prefix="doorkeeper-")
        send = not master.startswith("local[") if send_packages is None else send_packages
        if send:
            self.session.sparkContext.addPyFile(str(package_archive(Path(self._folder.name))))

    def map(
        self,
        function: Callable[[Shared, Task], Result],
        tasks: Sequence[Task],
        shared: Shared,
    ) -> Iterator[Result]:
        """Yield the result of each task, in the order of the tasks, as each is complete."""
        if not tasks:
            return
        context = self.session.sparkContext
        broadcast = context.broadcast(shared)
        call = _Call(function, broadcast)
        try:
            results = context.parallelize(list(tasks), len(tasks)).map(call)
            # All partitions run at once; toLocalIterator would start them one by one.
            yield from results.collect()
        finally:
            broadcast.unpersist()

    def over_tuples(
        self,
        files: Sequence[str],
        function: Callable[[Shared, pa.Table], pa.Table],
        shared: Shared,
        schema: pa.Schema,
        by: Sequence[str] = TUPLE,
    ) -> pa.Table:
        """Apply the function to the distinct decisions, a partition of principals at a time."""
        if not files:
            return schema.empty_table()
        from pyspark.sql import functions as sql  # noqa: PLC0415  as the session
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415  as above

        partitions = int(self.session.conf.get("spark.sql.shuffle.partitions") or 4)
        distinct = (
            self.session.read.parquet(*map(literal, files))
            .groupBy(*by)
            .agg(
                sql.sum("count").alias("count"),
                sql.min("first_ts").alias("first_ts"),
                sql.max("last_ts").alias("last_ts"),
            )
            .select(*by, "count", "first_ts", "last_ts")
        )
        key = "principal" if "principal" in by else by[0]
        broadcast = self.session.sparkContext.broadcast(shared)
        try:
            return (
                distinct.repartition(partitions, key)
                .mapInArrow(_OverTuples(function, broadcast, schema), from_arrow_schema(schema))
                .toArrow()
                .cast(schema)
            )
        finally:
            broadcast.unpersist()

    def close(self) -> None:
        """Stop Spark."""
        self.session.stop()
        self._folder.cleanup()


def literal(path: str) -> str:
    """Return a path as Spark reads it, which takes it for a pattern: a folder may be access[1]."""
    return _OF_PATTERNS.sub(r"\\\1", path)


class _Call:
    """A task of ``map`` on a worker; importable there by name, as the function is."""

    def __init__(self, function: Callable[[Any, Any], Any], broadcast: Any) -> None:  # noqa: ANN401  Spark's
        self._function = function
        self._broadcast = broadcast

    def __call__(self, task: Any) -> Any:  # noqa: ANN401  whatever the job gives
        return self._function(self._broadcast.value, task)


class _OverTuples:
    """The function over one partition: its batches are one table."""

    def __init__(
        self,
        function: Callable[[Any, pa.Table], pa.Table],
        broadcast: Any,  # noqa: ANN401  Spark's
        schema: pa.Schema,
    ) -> None:
        self._function = function
        self._broadcast = broadcast
        self._schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415  on the worker

        found = list(batches)
        if not found:
            return
        table = self._function(self._broadcast.value, pa.Table.from_batches(found))
        yield from table.cast(self._schema).to_batches()
