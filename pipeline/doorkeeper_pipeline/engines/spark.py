"""The engine that runs on Spark: a laptop with ``local[*]``, any cluster, or Spark Connect.

Tasks are partitions. They read and write files themselves, columnar, and give back small results:
the lines of a log never pass through the JVM's rows, which is most of the cost of a text source.
Only DataFrames are used, so that a session of Spark Connect, which has no context, is enough.
"""

from __future__ import annotations

import pickle
import tempfile
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.engines.contract import Engine, RemoteFile, Result, Shared, Task
from doorkeeper_pipeline.engines.remote import list_remote, over_files
from doorkeeper_pipeline.engines.session import CONNECT, LOCAL_MASTER, package_archive, start
from doorkeeper_pipeline.engines.workers import forget_archives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession


class SparkEngine(Engine):
    """Runs every task as a partition of a Spark job."""

    name = "spark"

    def __init__(
        self,
        master: str = LOCAL_MASTER,
        given: Mapping[str, str] | None = None,
        *,
        send_packages: bool | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Say how Spark is started; to a cluster our packages are sent, unless told otherwise."""
        self.master = master
        self._given = given or {}
        self._tell = tell
        self._ends = ExitStack()
        self._sends = not master.startswith("local[") if send_packages is None else send_packages

    @cached_property
    def session(self) -> SparkSession:
        """Start Spark where it is needed first: a run with nothing new needs none.

        Raises:
            Missing: Java or PySpark is not there.

        """
        self._tell(f"starting Spark, master {self.master}")
        session = start(self.master, "doorkeeper-pipeline", self._given)
        self._ends.callback(session.stop)
        if self._sends:
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
        call = _Call(function, shared, tuple(tasks))
        # All partitions run at once; toLocalIterator would start them one by one. Not toArrow:
        # Spark 3.5 lacks it.
        results = dict(numbers.mapInArrow(call, "number long, result binary").collect())
        for number in range(len(tasks)):
            yield pickle.loads(results[number])  # noqa: S301  of our own tasks

    def list_remote(self, addresses: Sequence[str]) -> list[RemoteFile]:
        """Return the files at addresses of any file system that Spark has."""
        if not addresses:
            return []
        return list_remote(self.session, addresses)

    def over_files(
        self, function: Callable[[Task, Path], Result], tasks: Mapping[str, Task]
    ) -> Iterator[Result]:
        """Yield the results of the function over copies of files, in no order."""
        if tasks:
            yield from over_files(self.session, function, tasks)

    def close(self) -> None:
        """Stop Spark, if it was started."""
        self._ends.close()


class _Call:
    """The tasks of ``map`` on a worker; importable there by name, as the function is."""

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        shared: object,
        tasks: tuple[Any, ...],
    ) -> None:
        self._function = function
        self._shared = shared
        self._tasks = tasks

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        forget_archives()
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            results = [
                pickle.dumps(self._function(self._shared, self._tasks[number]))
                for number in numbers
            ]
            yield pa.RecordBatch.from_arrays(
                [pa.array(numbers, pa.int64()), pa.array(results, pa.binary())],
                names=["number", "result"],
            )
