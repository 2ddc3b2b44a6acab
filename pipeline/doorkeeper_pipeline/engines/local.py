"""The engine without a JVM: Polars in this process, a task after the other.

Polars itself uses every core inside a task, so tasks in parallel would win little and hold more
memory.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

from doorkeeper_pipeline.engines.contract import Engine, RemoteFile, Result, Shared, Task
from doorkeeper_pipeline.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


class LocalEngine(Engine):
    """Runs every task here."""

    name = "local"
    master = ""

    def map(
        self,
        function: Callable[[Shared, Task], Result],
        tasks: Sequence[Task],
        shared: Shared,
    ) -> Iterator[Result]:
        """Yield ``function(shared, task)`` of every task, in their order."""
        if tasks:
            leave_pandas_out()
        for task in tasks:
            yield function(shared, task)

    def list_remote(self, addresses: Sequence[str]) -> list[RemoteFile]:
        """Refuse addresses: only Spark has their file systems.

        Raises:
            Unreadable: there are some.

        """
        if addresses:
            raise Unreadable(
                f"{addresses[0]}: the local engine reads only local paths; mount the storage, or"
                " add --engine spark"
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

    def close(self) -> None:
        """Nothing is to be ended."""


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
