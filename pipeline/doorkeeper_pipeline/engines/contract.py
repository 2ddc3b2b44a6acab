"""What an engine does, and the one that does it in this process.

A job is a function over values of one partition (names of files, an Arrow table) that can be
imported by name, so that Spark's workers find it. Values that all partitions need are given
once as ``shared``, and broadcast.

Polars itself uses every core inside a task, so tasks in parallel would win little here and hold
more memory.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from doorkeeper_pipeline.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")


class RemoteFile(NamedTuple):
    """A file at an address, its bytes, and the time of its last change."""

    address: str
    size: int
    mtime_ns: int


class Engine:
    """Runs jobs: this one here, without a JVM, a task after the other; ``SparkEngine`` on Spark.

    Attributes:
        name: local or spark.
        master: Spark's master; empty for local.

    """

    name = "local"
    master = ""

    def map(
        self,
        function: Callable[[Shared, Task], Result],
        tasks: Sequence[Task],
        shared: Shared,
    ) -> Iterator[Result]:
        """Yield ``function(shared, task)`` of every task, in their order; results must be small."""
        if tasks:
            leave_pandas_out()
        for task in tasks:
            yield function(shared, task)

    def list_remote(self, addresses: Sequence[str]) -> list[RemoteFile]:
        """Return the files at addresses of other storage, of folders with all below them.

        Raises:
            Unreadable: they cannot be listed; only Spark has their file systems.

        """
        if addresses:
            raise Unreadable(
                f"{addresses[0]}: the local engine reads only local paths; mount the storage, or"
                " add --engine spark"
            )
        return []

    def over_files(
        self, function: Callable[[Task, Path], Result], tasks: Mapping[str, Task]
    ) -> Iterator[Result]:
        """Yield ``function(task, copy)`` of the files at addresses, each copied to its task.

        Raises:
            Unreadable: one cannot be read.

        """
        assert not tasks, "none was listed"
        return iter(())

    def close(self) -> None:
        """End the engine."""


@cache
def leave_pandas_out() -> None:
    """Let Arrow find no pandas, which it imports with the first array: 0.3 s that nothing needs.

    It looks for it twice: when it makes an array of one of NumPy's, and the other way.
    """
    import numpy as np

    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        import pyarrow as pa

        pa.array(np.zeros(1)).to_numpy(zero_copy_only=False)
    finally:
        sys.meta_path.remove(absent)


class _Absent:
    """Finds that pandas is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse pandas, and leave all other modules to whoever finds them."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out", name=name)
