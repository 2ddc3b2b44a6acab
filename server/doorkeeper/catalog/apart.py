"""The process that reads a large catalog: ``python -m doorkeeper.catalog.apart FILE``.

It writes the lines that ``doorkeeper.catalog.lines`` describes, and ends. Its memory, which is
many times the size of the file, goes with it.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

from doorkeeper.catalog.errors import CatalogError
from doorkeeper.catalog.lines import lines_of, lines_of_problems
from doorkeeper.catalog.loading import load

NICENESS = 10
"""Whoever is served goes first where processors are few."""


def main(file: str) -> None:
    """Read a file, and tell what it declares or what is wrong with it."""
    give_way()
    # There are no cycles worth looking for, and all of it is gone in a second or two.
    gc.disable()
    try:
        lines = lines_of(load(Path(file)))
    except CatalogError as error:
        lines = lines_of_problems(error)
    sys.stdout.writelines(lines)
    sys.stdout.flush()


def give_way() -> None:
    """Leave the processor to the server; where memory ends, end before the server does."""
    with suppress(OSError):
        os.nice(NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1])
