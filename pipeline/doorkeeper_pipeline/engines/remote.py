"""Files at addresses that Spark can read, such as ``s3a://bucket/logs/*.gz``, given to tasks.

Spark lists and fetches them (``binaryFile``), with the file systems and credentials of its
configuration. A task gets a file whole, as a temporary file of its machine, and reads it as it
reads any other: so rows, offsets and compressions are the same wherever a file is.
"""

from __future__ import annotations

import pickle
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.engines.contract import RemoteFile
from doorkeeper_pipeline.engines.session import first_line
from doorkeeper_pipeline.engines.workers import forget_archives
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


def list_remote(session: SparkSession, addresses: Sequence[str]) -> list[RemoteFile]:
    """Return the files at addresses, of folders with all below them, sorted.

    Raises:
        Unreadable: an address has nothing, Spark cannot read it, or a file is too large.

    """
    remote_files = {}
    for address in addresses:
        files = _files_at(session, [address], recursive=True)
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
    session: SparkSession,
    function: Callable[[Any, Path], Any],
    tasks: Mapping[str, Any],
) -> Iterator[Any]:
    """Yield ``function(task, copy)`` of every file, in no order; tasks are by address.

    Raises:
        Unreadable: Spark cannot read one.

    """
    if not tasks:
        return
    name, value = ONE_AT_A_TIME
    before = session.conf.get(name)
    session.conf.set(name, value)
    try:
        files = _files_at(session, [literal(address) for address in tasks])
        call = _OverFiles(function, dict(tasks))
        results = files.select("path", "content").mapInArrow(call, "result binary").collect()
    except Exception as error:
        raise Unreadable(f"Spark cannot read the files: {first_line(error)}") from error
    finally:
        session.conf.set(name, before)
    for (result,) in results:
        yield pickle.loads(result)  # noqa: S301  of our own tasks


class _OverFiles:
    """The function on a worker: each file is a temporary one there."""

    def __init__(self, function: Callable[[Any, Path], Any], tasks: dict[str, Any]) -> None:
        self._function = function
        self._tasks = tasks

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        forget_archives()
        for batch in batches:
            for path, content in zip(*batch.columns, strict=True):
                with tempfile.NamedTemporaryFile(prefix="doorkeeper-") as copy:
                    copy.write(content.as_buffer())
                    copy.flush()
                    result = self._function(self._tasks[path.as_py()], Path(copy.name))
                yield pa.RecordBatch.from_arrays(
                    [pa.array([pickle.dumps(result)], pa.binary())], names=["result"]
                )


def _files_at(
    session: SparkSession, addresses: Sequence[str], *, recursive: bool = False
) -> DataFrame:
    reader = session.read.format("binaryFile").option("recursiveFileLookup", recursive)
    try:
        return reader.load(list(addresses))
    except Exception as error:
        raise Unreadable(f"{addresses[0]}: {first_line(error)}") from error


def literal(path: str) -> str:
    """Return a path as Spark reads it, which takes it for a pattern: a folder may be access[1]."""
    return _OF_PATTERNS.sub(r"\\\1", path)
