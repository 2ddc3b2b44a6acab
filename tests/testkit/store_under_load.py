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
from typing import TYPE_CHECKING

from doorkeeper.server.schema.change import Origin
from doorkeeper.server.state.log import StateLog
from testkit.stores import AUTHOR, adding, open_store, removing

if TYPE_CHECKING:
    from doorkeeper.server.schema.change import Change

SUBMITTERS = 16


async def main(data_dir: Path, first: int) -> None:
    """Change the store for ever."""
    log = StateLog(open_store(data_dir))
    await log.start()
    numbers = itertools.count(first)

    async def submit(sign: str, number: int, change: Change) -> None:
        committed = await log.submit(lambda _: (change, None), Origin(AUTHOR))
        os.write(1, f"{sign}{number} {committed.revision}\n".encode())

    async def submit_forever() -> None:
        for number in numbers:
            await submit("+", number, adding(number))
            if number % 3 == 0:
                await submit("-", number, removing(number))

    await asyncio.gather(*(submit_forever() for _ in range(SUBMITTERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
