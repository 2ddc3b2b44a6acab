"""The engine that runs on Spark: a laptop with ``local[*]``, any cluster, or Spark Connect.

Tasks are partitions. They read and write files themselves, columnar, and give back small results:
the lines of a log never pass through the JVM's rows, which is most of the cost of a text source.
Only DataFrames are used, so that a session of Spark Connect, which has no context, is enough.

Files at addresses such as ``s3a://bucket/logs/*.gz`` are listed and fetched by Spark
(``binaryFile``), with the file systems and credentials of its configuration. A task gets a file
whole, as a temporary file of its machine, and reads it as it reads any other: so rows, offsets and
compressions are the same wherever a file is.
"""

from __future__ import annotations

import pickle
import re
import sys
import tempfile
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipimport import zipimporter

from doorkeeper_pipeline.engines.contract import Engine, RemoteFile, Result, Shared, Task
from doorkeeper_pipeline.engines.session import (
    CONNECT,
    LOCAL_MASTER,
    first_line,
    package_archive,
    start,
)
from doorkeeper_pipeline.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

BYTES_MAX = (1 << 31) - 1
"""The most that Spark gives as one value."""

_OF_PATTERNS = re.compile(r"([\[\]{}*?\\])")

ONE_AT_A_TIME = ("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
"""Else ten thousand files would be given to Python together."""


class SparkEngine(Engine):
    """Runs every task as a partition of a Spark job."""

    name = "spark"

    def __init__(
        self,
        master: str = LOCAL_MASTER,
        given: Mapping[str, str] | None = None,
        *,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Say how Spark is started; to a cluster our packages are sent."""
        self.master = master
        self._given = given or {}
        self._tell = tell
        self._ends = ExitStack()

    @cached_property
    def session(self) -> SparkSession:
        """Start Spark where it is needed first: a run with nothing new needs none.

        Raises:
            PipelineError: Java or PySpark is not there.

        """
        self._tell(f"starting Spark, master {self.master}")
        session = start(self.master, "doorkeeper-pipeline", self._given)
        self._ends.callback(session.stop)
        if not self.master.startswith("local["):
            folder = self._ends.enter_context(tempfile.TemporaryDirectory(prefix="doorkeeper-"))
            archive = str(package_archive(Path(folder)))
            if self.master.startswith(CONNECT):
                session.addArtifacts(archive, pyfile=True)
            else:  # which has addArtifacts since Spark 4 only
                session.sparkContext.addPyFile(archive)
        return session

    def map(
        self,
        function: Callable[[Shared, Task], Result],
        tasks: Sequence[Task],
        shared: Shared,
    ) -> Iterator[Result]:
        """Yield the result of each task, in the order of the tasks."""
        if not tasks:
            return
        if not self.master.startswith(CONNECT):
            # What Spark's pages and event log call the job.
            name = f"{function.__module__}.{function.__name__}"
            self.session.sparkContext.setJobDescription(name)
        numbers = self.session.range(0, len(tasks), 1, len(tasks))
        call = partial(_over_numbers, function, shared, tuple(tasks))
        # All partitions run at once; toLocalIterator would start them one by one. Not toArrow:
        # Spark 3.5 lacks it.
        results = dict(numbers.mapInArrow(call, "number long, result binary").collect())
        for number in range(len(tasks)):
            yield pickle.loads(results[number])  # noqa: S301  of our own tasks

    def list_remote(self, addresses: Sequence[str]) -> list[RemoteFile]:
        """Return the files at addresses of any file system that Spark has, sorted.

        Raises:
            Unreadable: an address has nothing, Spark cannot read it, or a file is too large.

        """
        remote_files = {}
        for address in addresses:
            files = self._files_at([address], recursive=True)
            try:
                rows = files.select("path", "modificationTime", "length").collect()
            except Exception as error:
                raise Unreadable(f"{address}: Spark cannot list it: {first_line(error)}") from error
            if not rows:
                raise Unreadable(f"{address}: no files")
            for row in rows:
                mtime_ns = int(row.modificationTime.timestamp() * 1000) * 1_000_000
                remote_files[row.path] = RemoteFile(row.path, row.length, mtime_ns)
        large = [file.address for file in remote_files.values() if file.size > BYTES_MAX]
        if large:
            raise Unreadable(
                f"{large[0]}: larger than 2 GB, Spark's limit for one task; compress the file, or"
                " mount the storage"
            )
        return sorted(remote_files.values())

    def over_files(
        self, function: Callable[[Task, Path], Result], tasks: Mapping[str, Task]
    ) -> Iterator[Result]:
        """Yield ``function(task, copy)`` of every file, in no order; tasks are by address.

        Raises:
            Unreadable: Spark cannot read one.

        """
        if not tasks:
            return
        name, value = ONE_AT_A_TIME
        before = self.session.conf.get(name)
        self.session.conf.set(name, value)
        try:
            files = self._files_at([literal(address) for address in tasks])
            call = partial(_over_copies, function, dict(tasks))
            results = files.select("path", "content").mapInArrow(call, "result binary").collect()
        except Exception as error:
            raise Unreadable(f"Spark cannot read the files: {first_line(error)}") from error
        finally:
            self.session.conf.set(name, before)
        for (result,) in results:
            yield pickle.loads(result)  # noqa: S301  of our own tasks

    def _files_at(self, addresses: Sequence[str], *, recursive: bool = False) -> DataFrame:
        reader = self.session.read.format("binaryFile").option("recursiveFileLookup", recursive)
        try:
            return reader.load(list(addresses))
        except Exception as error:
            raise Unreadable(f"{addresses[0]}: {first_line(error)}") from error

    def close(self) -> None:
        """Stop Spark, if it was started."""
        self._ends.close()


def literal(path: str) -> str:
    """Return a path as Spark reads it, which takes it for a pattern: a folder may be access[1]."""
    return _OF_PATTERNS.sub(r"\\\1", path)


def _over_numbers(
    function: Callable[[Any, Any], Any],
    shared: object,
    tasks: tuple[Any, ...],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Do the tasks with some numbers, on a worker; importable there by name, as the function is."""
    import pyarrow as pa

    forget_archives()
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        results = [pickle.dumps(function(shared, tasks[number])) for number in numbers]
        yield pa.RecordBatch.from_arrays(
            [pa.array(numbers, pa.int64()), pa.array(results, pa.binary())],
            names=["number", "result"],
        )


def _over_copies(
    function: Callable[[Any, Path], Any],
    tasks: Mapping[str, Any],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Do the tasks over some files, on a worker: each file is a temporary one there."""
    import pyarrow as pa

    forget_archives()
    for batch in batches:
        for path, content in zip(*batch.columns, strict=True):
            with tempfile.NamedTemporaryFile(prefix="doorkeeper-") as copy:
                copy.write(content.as_buffer())
                copy.flush()
                result = function(tasks[path.as_py()], Path(copy.name))
            yield pa.RecordBatch.from_arrays(
                [pa.array([pickle.dumps(result)], pa.binary())], names=["result"]
            )


def forget_archives() -> None:
    """Forget the finders of zip archives, so that the next task of this worker begins sooner.

    PySpark's workers call ``importlib.invalidate_caches`` before each task, and Python before 3.13
    then reads the directory of ``pyspark.zip`` anew for each package of it that was imported:
    0.2 s a task, more than most tasks take. A later import makes its finder again.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
