"""A process that changes a store without pause until it is killed; run with -m.

    python -m testkit.store_under_load DATA_DIR FIRST_NUMBER

Sixteen submitters add bindings, ever new numbers from FIRST_NUMBER on, and remove every third
again. Each result is one line on standard output, written at once: "+NUMBER REVISION" or
"-NUMBER REVISION". A line that is there is a change that was acknowledged.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from pathlib import Path

from testkit.stores import adding, removing, started_store, submitting

SUBMITTERS = 16


async def main(data_dir: Path, first: int) -> None:
    """Change the store for ever."""
    store = started_store(data_dir)
    numbers = itertools.count(first)

    def acknowledge(sign: str, number: int, result: object) -> None:
        os.write(1, f"{sign}{number} {result}\n".encode())

    async def submit_forever() -> None:
        for number in numbers:
            acknowledge("+", number, await submitting(store, adding(number)))
            if number % 3 == 0:
                acknowledge("-", number, await submitting(store, removing(number)))

    await asyncio.gather(*(submit_forever() for _ in range(SUBMITTERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
