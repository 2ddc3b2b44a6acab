"""The process that reads a large catalog; it is run with ``python -m``.

It writes the lines of ``doorkeeper.server.resources.catalog.lines``. Its memory, many times the
size of the file, is released with its end.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

from doorkeeper.server.resources.catalog.errors import CatalogError
from doorkeeper.server.resources.catalog.lines import lines_of, lines_of_problems
from doorkeeper.server.resources.catalog.loading import load

# The server has precedence on a machine with few processors.
NICENESS = 10


def main(file: str) -> None:
    """Read a file, and write its declarations or its faults."""
    give_way()
    # No cycles to collect, and the process ends within seconds.
    gc.disable()
    try:
        lines = lines_of(load(Path(file)))
    except CatalogError as error:
        lines = lines_of_problems(error)
    sys.stdout.writelines(lines)
    sys.stdout.flush()


def give_way() -> None:
    """Lower the priority; without memory the kernel kills this process before the server."""
    with suppress(OSError):
        os.nice(NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1])
