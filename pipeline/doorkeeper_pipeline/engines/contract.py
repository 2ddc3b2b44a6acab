"""The operations of an engine.

A job is a function over values of one partition (names of files, an Arrow table) that can be
imported by name, so that Spark's workers find it. Values that all partitions need are given
once as ``shared``, and broadcast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

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


class Engine(Protocol):
    """Runs jobs.

    Attributes:
        name: local or spark.
        master: Spark's master; empty for local.

    """

    name: str
    master: str

    def map(
        self,
        function: Callable[[Shared, Task], Result],
        tasks: Sequence[Task],
        shared: Shared,
    ) -> Iterator[Result]:
        """Yield ``function(shared, task)`` of every task, in no order; results must be small."""
        ...

    def list_remote(self, addresses: Sequence[str]) -> list[RemoteFile]:
        """Return the files at addresses of other storage, of folders with all below them.

        Raises:
            Unreadable: they cannot be listed, or the engine reads no addresses.

        """
        ...

    def over_files(
        self, function: Callable[[Task, Path], Result], tasks: Mapping[str, Task]
    ) -> Iterator[Result]:
        """Yield ``function(task, copy)`` of the files at addresses, each copied to its task.

        Raises:
            Unreadable: one cannot be read.

        """
        ...

    def close(self) -> None:
        """End the engine."""
        ...
