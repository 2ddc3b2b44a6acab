"""Records of topics, read by Spark (``spark-sql-kafka-0-10``) and given to tasks as lines.

The offsets are those that the driver has chosen, so Spark stores none, and records are the same as
with the local engine. A task gets the records of one partition in their order.
"""

from __future__ import annotations

import json
import pickle
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.engines.remote import first_line
from doorkeeper_pipeline.errors import Missing, Unreadable
from doorkeeper_pipeline.topics.lines import RecordLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from doorkeeper_pipeline.topics.ranges import RecordRange

OURS = frozenset(
    {
        "bootstrap.servers",
        "auto.offset.reset",
        "enable.auto.commit",
        "group.id",
        "interceptor.classes",
        "isolation.level",
        "key.deserializer",
        "value.deserializer",
    }
)
"""Properties that Spark refuses, or that are ours."""

_NO_SOURCE = ("Failed to find data source: kafka", "Failed to find the data source: kafka")


def over_records(
    session: SparkSession,
    function: Callable[[Any, RecordLines], Any],
    tasks: Sequence[tuple[RecordRange, Any]],
) -> Iterator[Any]:
    """Yield ``function(task, lines)`` of every part of a range that Spark reads.

    Raises:
        Missing: Spark has no source for topics.
        Unreadable: Spark cannot read them.

    """
    by_topic: dict[tuple[str, str, str], list[tuple[RecordRange, Any]]] = {}
    for wanted, task in tasks:
        key = (wanted.address.servers, wanted.address.topic, wanted.config)
        by_topic.setdefault(key, []).append((wanted, task))
    for (servers, topic, config), ours in by_topic.items():
        records = _records(session, client_options(servers, config), topic, ours)
        yield from apply(records, function, ours)


def apply(
    records: DataFrame,
    function: Callable[[Any, RecordLines], Any],
    tasks: Sequence[tuple[RecordRange, Any]],
) -> Iterator[Any]:
    """Yield ``function(task, lines)`` of the records of a topic that are in ranges of tasks.

    Raises:
        Missing: Spark has no source for topics.
        Unreadable: Spark cannot read them.

    """
    wanted = records.select("partition", "offset", "value")
    try:
        found = wanted.mapInArrow(OverRecords(function, tasks), "result binary")
        results = found.toArrow().column(0).to_pylist()
    except Exception as error:
        raise describe(str(tasks[0][0].address), error) from error
    for result in results:
        yield pickle.loads(result)  # noqa: S301  of our own tasks


def client_options(servers: str, config: str) -> dict[str, str]:
    """Return the options of Spark's source: servers, and the properties of a client.

    Raises:
        PipelineError: a variable of the file cannot be resolved.

    """
    values: dict[str, str] = {}
    if config:
        from doorkeeper.client.properties import client_properties
        from doorkeeper_pipeline.topics.consumer import (
            translate_config_errors,
        )

        with translate_config_errors(config):
            values = client_properties(Path(config))
    return {
        **{f"kafka.{key}": value for key, value in values.items() if key not in OURS},
        "kafka.bootstrap.servers": servers,
        "kafka.isolation.level": "read_committed",
    }


def describe(place: str, error: Exception) -> Missing | Unreadable:
    """Return an error of Spark's in one line."""
    text = str(error)
    if any(each in text for each in _NO_SOURCE):
        import pyspark

        return Missing(
            "Spark has no source for topics: add --packages"
            f" org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
        )
    return Unreadable(f"{place}: Spark cannot read it: {first_line(error)}")


def _records(
    session: SparkSession,
    options: dict[str, str],
    topic: str,
    tasks: Sequence[tuple[RecordRange, Any]],
) -> DataFrame:
    first: dict[str, int] = {}
    end: dict[str, int] = {}
    for wanted, _ in tasks:
        key = str(wanted.partition)
        first[key] = min(first.get(key, wanted.first), wanted.first)
        end[key] = max(end.get(key, wanted.end), wanted.end)
    source = session.read.format("kafka").options(**options)
    try:
        return (
            source.option("assign", json.dumps({topic: sorted(map(int, first))}))
            .option("startingOffsets", json.dumps({topic: first}))
            .option("endingOffsets", json.dumps({topic: end}))
            .load()
        )
    except Exception as error:
        raise describe(str(tasks[0][0].address), error) from error


class OverRecords:
    """The function on a worker: records of a range become lines of a temporary file there."""

    def __init__(
        self,
        function: Callable[[Any, RecordLines], Any],
        tasks: Sequence[tuple[RecordRange, Any]],
    ) -> None:
        self._function = function
        self._tasks: dict[int, list[tuple[RecordRange, Any]]] = {}
        for wanted, task in sorted(tasks, key=lambda each: each[0].first):
            self._tasks.setdefault(wanted.partition, []).append((wanted, task))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for result in self._results(batches):
            yield pa.RecordBatch.from_arrays(
                [pa.array([pickle.dumps(result)], pa.binary())], names=["result"]
            )

    def _results(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Any]:
        current: tuple[RecordRange, Any] | None = None
        lines = RecordLines()
        try:
            for batch in batches:
                for partition, offset, value in zip(
                    *(column.to_pylist() for column in batch.columns), strict=True
                ):
                    if current is None or not _has(current[0], partition, offset):
                        if current is not None and lines.count:
                            yield self._function(current[1], lines.complete())
                        lines.close()
                        lines, current = RecordLines(), self._find(partition, offset)
                    if current is not None:
                        lines.add([(offset, value)])
            if current is not None and lines.count:
                yield self._function(current[1], lines.complete())
        finally:
            lines.close()

    def _find(self, partition: int, offset: int) -> tuple[RecordRange, Any] | None:
        """Return the task of a record; None for one between ranges, which is not wanted."""
        ours = self._tasks.get(partition, [])
        at = bisect_right(ours, offset, key=lambda each: each[0].first) - 1
        return ours[at] if at >= 0 and offset < ours[at][0].end else None


def _has(wanted: RecordRange, partition: int, offset: int) -> bool:
    return wanted.partition == partition and wanted.first <= offset < wanted.end
