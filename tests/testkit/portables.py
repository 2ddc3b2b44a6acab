"""Stores for copies: full ones, and rows in memory that may be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CONFIG, CREDENTIAL, TOKEN, TOPIC
from doorkeeper.server.state.storage.portable import COLUMNS, Header, Portable, Position, Row
from testkit.stores import adding, config, credential, fill, removing, token, topic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from doorkeeper.server.schema.change import Change

ODD = credential("odd\0\ufdd0")

CHANGES: tuple[Change, ...] = (
    adding(*range(20)),
    edit(TOPIC, set=(topic("a"), topic("b")))
    | edit(CONFIG, set=(config("k", "v\0w"), config("k", "1", "1")))
    | edit(CREDENTIAL, set=(ODD, credential("bob")))
    | edit(TOKEN, set=(token("t1"), token("t2"))),
    edit(TOPIC, set=(topic("b", 9),), deleted=(topic("a"),))
    | edit(CONFIG, deleted=(config("k", "1", "1"),))
    | edit(CREDENTIAL, deleted=(credential("bob"),))
    | edit(TOKEN, deleted=(token("t1"),)),
    removing(3, 4),
)


async def fill_fully(data_dir: Path) -> None:
    """Make an embedded store with everything that a store can hold."""
    await fill(data_dir, *CHANGES)


class Held(Portable):
    """A store whose rows a test may change before it is read."""

    name = "held"

    def __init__(self, header: Header, tables: dict[str, list[Row]]) -> None:
        """Take what another store holds."""
        self.kept = header
        self.tables = tables
        self.broken: list[str] = []

    @classmethod
    async def of(cls, store: Portable) -> Held:
        """Read a whole store."""
        tables: dict[str, list[Row]] = {table: [] for table in COLUMNS}
        for table in COLUMNS:
            async for piece in store.rows(table):
                tables[table].extend(piece)
        return cls(await store.header(), tables)

    async def header(self) -> Header:
        """Return what was taken."""
        return self.kept

    async def position(self) -> Position:
        """Return that of the header."""
        return Position(self.kept.revision, self.kept.base)

    async def rows(
        self,
        table: str,
        columns: Sequence[str] = (),
        *,
        after: int = -1,
        until: int | None = None,
    ) -> AsyncIterator[list[Row]]:
        """Return the rows in two pieces."""
        at = COLUMNS[table].index("revision")
        wanted = [COLUMNS[table].index(name) for name in columns or COLUMNS[table]]
        rows = [
            tuple(row[number] for number in wanted)
            for row in self.tables[table]
            if after < int(row[at] or 0) and (until is None or int(row[at] or 0) <= until)
        ]
        for piece in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
            yield piece

    async def findings(self) -> list[str]:
        """Return what the test says."""
        return list(self.broken)
