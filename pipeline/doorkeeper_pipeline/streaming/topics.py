"""The stream of a topic, with either engine: offsets stand in the batches, beside their rows.

Each start goes on where the batches end, whichever engine made them; records that are in a batch
are left out wherever they come again.
"""

from __future__ import annotations

import functools
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.engines.records import apply, client_options, describe
from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.jobs.read import ReadTask, by_offsets, parse
from doorkeeper_pipeline.sources import trail
from doorkeeper_pipeline.sources.reading import head
from doorkeeper_pipeline.sources.recognising import HEAD_BYTES, form_of
from doorkeeper_pipeline.streaming.batches import Added, Batches, RecordsResult, stage_rows
from doorkeeper_pipeline.streaming.following import batch_line
from doorkeeper_pipeline.streaming.structured import (
    CHECKPOINT,
    lock_stream,
    run_query,
    start_query,
)
from doorkeeper_pipeline.streaming.views import refresh
from doorkeeper_pipeline.tables.locking import lock
from doorkeeper_pipeline.topics.consumer import Consumer
from doorkeeper_pipeline.topics.ranges import RecordRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame

    from doorkeeper.acls.decision import Policy
    from doorkeeper_pipeline.engines.contract import Engine
    from doorkeeper_pipeline.engines.spark import SparkEngine
    from doorkeeper_pipeline.topics.addresses import TopicAddress
    from doorkeeper_pipeline.topics.consumer import TopicState
    from doorkeeper_pipeline.topics.lines import RecordLines

OFFSET_MAX = (1 << 63) - 1
UNIT = "ranges"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStreamRequest:
    """The options of the stream of a topic.

    Attributes:
        address: The topic.
        out: The output folder.
        policy: Super users, and the default without ACLs.
        config: A file with the properties of a Kafka client; empty for none.
        source: The source of the records; None: recognised.
        zone: The zone of times that have none.
        cluster: The cluster whose events are kept, of those that name one; empty for the only one.
        interval_s: Seconds from one look at the topic to the next.
        once: Whether to end when all records that are there have been read.
        networks: Whether hosts of ACLs may be networks, as in Kafka 4.4.

    """

    address: TopicAddress
    out: Path
    policy: Policy
    config: str = ""
    source: str | None = None
    zone: str = "UTC"
    cluster: str = ""
    interval_s: float = 10.0
    once: bool = False
    networks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsTask:
    """Records of a partition, and the folder in which their rows are staged."""

    place: str
    partition: int
    staging: str
    source: str | None
    zone: str
    cluster: str


def follow_topic(
    request: TopicStreamRequest,
    engine: Engine,
    tell: Callable[[str], None],
    wait: Callable[[float], bool],
    checkpoint: Callable[[str], None] = lambda _: None,
) -> None:
    """Read records as they come, without a JVM. ``wait`` sleeps, and says whether to go on.

    Raises:
        Busy: another process streams into the folder.
        Unreadable: the topic cannot be read.

    """
    batches = Batches(request.out)
    with lock(batches.root), Consumer(request.address.servers, request.config) as consumer:
        if batches.numbers():
            _refresh(request, batches)
        while True:
            state = consumer.state(request.address)
            ranges = [
                each._replace(end=state.offsets[each.partition].end)
                for each in _ranges(request, state, batches, tell)
            ]
            pieces = [piece for each in ranges for piece in each.pieces()]
            if pieces:
                read = functools.partial(_read_pieces, request, engine, pieces)
                added = batches.add_records(state.log, read, checkpoint)
                _tell_batch(request, batches, added, tell)
            if request.once or not wait(request.interval_s):
                return


def stream_topic(
    request: TopicStreamRequest,
    engine: SparkEngine,
    tell: Callable[[str], None],
    wait: Callable[[float], bool],
    checkpoint: Callable[[str], None] = lambda _: None,
) -> None:
    """Read records as they come, by Structured Streaming, until ``wait`` says to end.

    Raises:
        Busy: another driver streams into the folder.
        PipelineError: the stream failed.

    """
    batches = Batches(request.out)
    batches.root.mkdir(parents=True, exist_ok=True)
    release = lock_stream(engine.session, batches, tell, wait)
    try:
        with Consumer(request.address.servers, request.config) as consumer:
            state = consumer.state(request.address)
        begin = {str(each.partition): each.first for each in _ranges(request, state, batches, tell)}
        topic = request.address.topic
        # A checkpoint would go before our offsets, and the source of Spark 4.1.1 and 4.1.2 fails
        # behind the first batch that one repeats (SPARK-55271).
        shutil.rmtree(batches.root / CHECKPOINT, ignore_errors=True)
        source = engine.session.readStream.format("kafka").options(
            **client_options(request.address.servers, request.config),
            subscribe=topic,
            startingOffsets=json.dumps({topic: begin}),
        )
        try:
            records = source.load()
        except Exception as error:
            raise describe(str(request.address), error) from error
        batch = functools.partial(_batch, request, state.log, batches, tell, checkpoint)
        query = start_query(records, batch, batches, request.interval_s, once=request.once)
        run_query(query, request.interval_s, wait)
    finally:
        release()


def _batch(
    request: TopicStreamRequest,
    topic_id: str,
    batches: Batches,
    tell: Callable[[str], None],
    checkpoint: Callable[[str], None],
    records: DataFrame,
    _: int,
) -> None:
    """Read the records of a batch, but for those that an earlier one has."""

    def read(staging: Path) -> Iterable[RecordsResult]:
        known = batches.offsets(topic_id)
        partitions = [row.partition for row in records.select("partition").distinct().collect()]
        tasks = [
            (
                RecordRange(request.address, each, known.get(each, 0), OFFSET_MAX, request.config),
                _task(request, each, staging),
            )
            for each in partitions
        ]
        return apply(records, read_lines, tasks) if tasks else ()

    added = batches.add_records(topic_id, read, checkpoint)
    _tell_batch(request, batches, added, tell)


def _ranges(
    request: TopicStreamRequest, state: TopicState, batches: Batches, tell: Callable[[str], None]
) -> list[RecordRange]:
    """Return where each partition goes on; records that retention deleted are told."""
    known = batches.offsets(state.log)
    found = []
    for partition, offsets in state.offsets.items():
        begin = known.get(partition, offsets.first)
        if begin < offsets.first:
            tell(
                f"warning: {request.address}/{partition}: {offsets.first - begin} records deleted"
                " by the topic's retention before they were read, offsets"
                f" {begin} to {offsets.first - 1}"
            )
            begin = offsets.first
        found.append(RecordRange(request.address, partition, begin, offsets.end, request.config))
    return found


def _read_pieces(
    request: TopicStreamRequest, engine: Engine, pieces: list[RecordRange], staging: Path
) -> Iterable[RecordsResult]:
    """Read ranges; each result ends where its range does, also behind markers of transactions."""
    tasks = [(each, (each, _task(request, each.partition, staging))) for each in pieces]
    return engine.over_records(_read_range, tasks)


def _read_range(task: tuple[RecordRange, RecordsTask], lines: RecordLines) -> RecordsResult:
    wanted, ours = task
    return replace(read_lines(ours, lines), first=wanted.first, end=wanted.end)


def read_lines(task: RecordsTask, lines: RecordLines) -> RecordsResult:
    """Stage the rows of records: the function of the tasks.

    Raises:
        Conflicting: events name several clusters, and none of them is selected.
        PipelineError: a file cannot be written.

    """
    form = form_of(head(lines.path, "", HEAD_BYTES))
    # Records that nothing is known of go to quarantine, each.
    source = task.source or (trail.SOURCE if form is None else form.source)
    parsed = by_offsets(
        parse(
            ReadTask(
                file_id="",
                path=str(lines.path),
                source=source,
                how="",
                zone=task.zone,
                number=0,
                start=0,
                end=None,
                head_bytes=0,
                head_sha256="",
                out="",
            )
        ),
        lines,
    )
    named = set(parsed.decisions["cluster"].unique()) - {""}
    if task.cluster:
        of_others = named - {task.cluster}
        decisions = parsed.decisions.filter(~pl.col("cluster").is_in(of_others))
        parsed = replace(parsed, decisions=decisions)
    elif len(named) > 1:
        raise Conflicting(
            f"{task.place}: the events are of {len(named)} clusters: {', '.join(sorted(named))}."
            " Choose one by --cluster"
        )
    name = f"{task.partition}-{max(lines.first, 0)}"
    staged = stage_rows(Path(task.staging), name, task.place, source, parsed)
    return RecordsResult(
        path=task.place,
        part=staged.part,
        lines=parsed.lines,
        decisions=staged.decisions,
        quarantined=len(parsed.quarantine),
        missing=parsed.missing,
        partition=task.partition,
        first=lines.first,
        end=lines.end,
    )


def _task(request: TopicStreamRequest, partition: int, staging: Path) -> RecordsTask:
    return RecordsTask(
        place=f"{request.address}/{partition}",
        partition=partition,
        staging=str(staging),
        source=request.source,
        zone=request.zone,
        cluster=request.cluster,
    )


def _tell_batch(
    request: TopicStreamRequest,
    batches: Batches,
    added: Added[RecordsResult],
    tell: Callable[[str], None],
) -> None:
    rows = _refresh(request, batches)
    if added.results:
        tell(batch_line(*added, rows, UNIT))


def _refresh(request: TopicStreamRequest, batches: Batches) -> dict[str, int]:
    return refresh(
        request.out,
        batches,
        request.policy,
        networks=request.networks,
        cluster=request.cluster,
    )
