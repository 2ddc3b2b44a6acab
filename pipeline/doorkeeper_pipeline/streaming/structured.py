"""The stream on Spark: Structured Streaming over the names of files, with a checkpoint.

Spark only lists the folder and remembers which names it has given to which batch (``binaryFile``,
of which only ``path`` is read); the tasks read the files, columnar. Files of a batch that is given
again after a crash are left out, see ``batches``.

Two drivers must not share a checkpoint, and a killed Python driver leaves its JVM alive for some
seconds. So it is the JVM that holds the lock: the next driver waits until it is gone.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from doorkeeper_pipeline.errors import Busy, PipelineError
from doorkeeper_pipeline.streaming.batches import Batches, finished_files, is_finished, name_of
from doorkeeper_pipeline.streaming.following import StreamRequest, batch_line
from doorkeeper_pipeline.streaming.views import refresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from doorkeeper_pipeline.engines.spark import SparkEngine

SCHEMA = "path string, modificationTime timestamp, length long, content binary"
FILE_AGE_MAX = "36500d"
"""By default Spark leaves out, in silence, a file that is a week older than the newest: a restored
trail would lose its history."""

NAMES = "*.jsonl*"
CHECKPOINT = "checkpoint"
LOCK = "driver.lock"
LOCK_WAIT_S = 60
"""A killed driver's JVM was gone after 5 s on a quiet machine."""


def stream(
    request: StreamRequest,
    engine: SparkEngine,
    tell: Callable[[str], None],
    wait: Callable[[float], bool],
    checkpoint: Callable[[str], None] = lambda _: None,
) -> None:
    """Read finished files as they come, until ``wait`` says to end.

    Raises:
        Busy: another driver streams into the folder.
        PipelineError: the stream failed.
        Unreadable: the folder of the trail is not there.

    """
    finished_files(request.trail)
    batches = Batches(request.out)
    batches.root.mkdir(parents=True, exist_ok=True)
    release = lock_stream(engine.session, batches, tell, wait)
    try:
        query = _start(
            request, engine, functools.partial(_batch, request, engine, batches, tell, checkpoint)
        )
        run_query(query, request.interval_s, wait)
    finally:
        release()
    _tell_unseen(request, batches, tell)


def run_query(query: StreamingQuery, interval_s: float, wait: Callable[[float], bool]) -> None:
    """Let a query run until it ends or ``wait`` says to end.

    Raises:
        PipelineError: it failed.

    """
    try:
        while query.isActive and wait(min(interval_s, 1.0)):
            pass
        failure = query.exception()
        if failure is not None:
            raise PipelineError(f"the stream failed: {cause_of(failure)}")
    finally:
        query.stop()


def _start(
    request: StreamRequest, engine: SparkEngine, batch: Callable[[Any, int], None]
) -> StreamingQuery:
    files: DataFrame = (
        engine.session.readStream.format("binaryFile")
        .schema(SCHEMA)
        .option("pathGlobFilter", NAMES)
        .option("maxFileAge", FILE_AGE_MAX)
        .load(str(request.trail.absolute()))
        .select("path")
    )
    return start_query(files, batch, Batches(request.out), request.interval_s, once=request.once)


def start_query(
    rows: DataFrame,
    batch: Callable[[Any, int], None],
    batches: Batches,
    interval_s: float,
    *,
    once: bool,
) -> StreamingQuery:
    """Start a query that gives its rows to a function, batch by batch."""
    trigger: dict[str, Any] = (
        {"availableNow": True} if once else {"processingTime": f"{max(interval_s, 0.1)} seconds"}
    )
    return (
        rows.writeStream.foreachBatch(batch)
        .option("checkpointLocation", str((batches.root / CHECKPOINT).absolute()))
        .trigger(**trigger)
        .start()
    )


def _batch(
    request: StreamRequest,
    engine: SparkEngine,
    batches: Batches,
    tell: Callable[[str], None],
    checkpoint: Callable[[str], None],
    names: DataFrame,
    _: int,
) -> None:
    """Read the files of a batch."""
    paths = sorted(path_of(row.path) for row in names.collect())
    wanted = [path for path in paths if is_finished(path.rpartition("/")[2])]
    added = batches.add(wanted, engine, checkpoint)
    rows = refresh(request.out, batches, request.policy, networks=request.networks)
    if added.results:
        tell(batch_line(*added, rows))


def path_of(url: str) -> str:
    """Return the path of a file that Spark calls file:/a%20b."""
    parsed = urlparse(url)
    return unquote(parsed.path) if parsed.scheme == "file" else url


def lock_stream(
    session: SparkSession,
    batches: Batches,
    tell: Callable[[str], None],
    wait: Callable[[float], bool],
) -> Callable[[], None]:
    """Have the JVM lock the stream; return what releases it. Wait for a JVM that is still ending.

    Raises:
        Busy: the lock is not free after a minute.

    """
    context: Any = session.sparkContext
    file = context._jvm.java.io.RandomAccessFile(str((batches.root / LOCK).absolute()), "rw")  # noqa: SLF001  Spark's way to Java
    for second in range(LOCK_WAIT_S):
        lock = file.getChannel().tryLock()
        if lock is not None:
            release: Callable[[], None] = lock.release
            return release
        if second == 0:
            tell("another driver still holds the stream; waiting for it to end")
        if not wait(1.0):
            break
    raise Busy(f"{batches.root}: another driver is streaming there")


def _tell_unseen(request: StreamRequest, batches: Batches, tell: Callable[[str], None]) -> None:
    """Compare the folder with the files that were read: Spark may skip files silently."""
    seen = batches.file_names()
    unseen = [path.name for path in finished_files(request.trail) if name_of(path.name) not in seen]
    if unseen and request.once:
        tell(f"warning: {len(unseen)} files were not read, the first is {unseen[0]}")


def cause_of(error: object) -> str:
    lines = str(error).strip().splitlines()
    return next((line for line in reversed(lines) if "Error" in line or "error" in line), lines[0])
