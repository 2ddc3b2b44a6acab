"""Whether a store is sound: its log has no gap, and its tables are what the log says.

Each row of a table carries the revision that made it. Reading the log once, the last word on each
thing is kept; then every row must fit:

    revision in the log       the log's last word on it, of that revision, says the same
    revision before the log   the log, which was pruned up to there, says nothing of it

and whatever the log last said is there must be there. Where the log is whole, from revision 1 on,
this is the same as replaying it. Of a credential the log keeps whose it is and when it was set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.storage.portable import COLUMNS, LOG
from doorkeeper.storage.schema import LogKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from doorkeeper.storage.portable import Cell, Portable, Row

FINDINGS_MAX: Final = 20
"""So many findings of one table are told; a store that is wrong all over has more."""

_AT: Final = {name: at for at, name in enumerate(COLUMNS[LOG])}


class _Meaning(NamedTuple):
    """Of a kind of log row: which table, the columns of its key, those of its content."""

    table: str
    key: tuple[str, ...]
    content: tuple[str, ...]
    there: bool


_PATTERN = ("resource_type", "name", "pattern_type")
_ENTRY = ("principal", "host", "operation", "permission_type")
_BINDING = ("binding_id",)
_MEANINGS: Final = {
    LogKind.BINDING_CREATED: _Meaning("bindings", _BINDING, (*_PATTERN, *_ENTRY), there=True),
    LogKind.BINDING_DELETED: _Meaning("bindings", _BINDING, (), there=False),
    LogKind.TOPIC_CREATED: _Meaning("topics", ("name",), ("topic",), there=True),
    LogKind.TOPIC_ALTERED: _Meaning("topics", ("name",), ("topic",), there=True),
    LogKind.TOPIC_DELETED: _Meaning("topics", ("name",), (), there=False),
    LogKind.CONFIG_SET: _Meaning("configs", ("name", "config_key"), ("config_value",), there=True),
    LogKind.CONFIG_DELETED: _Meaning("configs", ("name", "config_key"), (), there=False),
    LogKind.CREDENTIAL_SET: _Meaning("credentials", ("name", "mechanism"), (), there=True),
    LogKind.CREDENTIAL_DELETED: _Meaning("credentials", ("name", "mechanism"), (), there=False),
    LogKind.TOKEN_SET: _Meaning("tokens", ("name",), ("record",), there=True),
    LogKind.TOKEN_DELETED: _Meaning("tokens", ("name",), (), there=False),
}

_KEYS: Final = {"bindings": 1, "topics": 1, "configs": 2, "credentials": 2, "tokens": 1}
"""How many of the first columns of a table are its key."""


class _Last(NamedTuple):
    """The last word on a thing: of which revision; its content, None where it is gone."""

    revision: int
    content: tuple[Cell, ...] | None


class _Log:
    """What was read of the log."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.newest = 0
        self.last: dict[str, dict[tuple[Cell, ...], _Last]] = {table: {} for table in _KEYS}
        self.findings: list[str] = []
        self._item = -1

    def take(self, row: Row) -> None:
        """Read the next row."""
        revision, item, kind = (int(row[at] or 0) for at in range(3))
        if self.first is None:
            self.first = self.newest = revision
        elif revision not in (self.newest, self.newest + 1):
            self._note(f"revision {revision} follows revision {self.newest}")
        expected = self._item + 1 if revision == self.newest and self._item >= 0 else 0
        if item != expected:
            self._note(f"revision {revision}: item {item} stands where item {expected} belongs")
        self.newest, self._item = revision, item
        meaning = _MEANINGS.get(LogKind(kind)) if kind in set(LogKind) else None
        if meaning is None:
            self._note(f"revision {revision}: item {item} has the kind {kind}")
            return
        key = tuple(row[_AT[name]] for name in meaning.key)
        content = tuple(row[_AT[name]] for name in meaning.content) if meaning.there else None
        things = self.last[meaning.table]
        before = things.get(key)
        if meaning.table == "bindings" and meaning.there and before is not None:
            self._note(f"revision {revision}: the binding {key[0]!r} is made twice")
        things[key] = _Last(revision, content)

    def _note(self, text: str) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(f"{LOG}: {text}")


async def findings(store: Portable) -> list[str]:
    """Return everything that is wrong with a store, one line each; none where it is sound."""
    found = await store.findings()
    header = await store.header()
    log = _Log()
    async for piece in store.rows(LOG):
        for row in piece:
            log.take(row)
    found += log.findings
    if log.newest != header.revision:
        found.append(
            f"{LOG}: its newest revision is {log.newest}; the store's is {header.revision}"
        )
    for table in _KEYS:
        rows: dict[tuple[Cell, ...], Row] = {}
        async for piece in store.rows(table):
            rows.update((row[: _KEYS[table]], row) for row in piece)
        found += [f"{table}: {each}" for each in _some(_table_findings(table, rows, log))]
    return found


def _table_findings(table: str, rows: Mapping[tuple[Cell, ...], Row], log: _Log) -> Iterator[str]:
    last = log.last[table]
    for key, row in rows.items():
        name, revision = _shown(key), int(row[-1] or 0)
        said = last.get(key)
        if revision > log.newest:
            yield f"{name} is of revision {revision}, which is not there yet"
        elif said is None and revision >= (log.first or 0):
            yield f"{name} is of revision {revision}, whose log says nothing of it"
        elif said is not None and said.content is None:
            yield f"{name} is there; revision {said.revision} deleted it"
        elif said is not None and said.revision != revision:
            yield f"{name} is of revision {revision}; revision {said.revision} set it last"
        elif said is not None and said.content and said.content != row[_KEYS[table] : -1]:
            yield f"{name} is not what revision {revision} says"
    for key, said in last.items():
        if said.content is not None and key not in rows:
            yield f"{_shown(key)} is not there; revision {said.revision} set it"
    if table == "bindings":
        yield from _twice(rows)


def _twice(rows: Mapping[tuple[Cell, ...], Row]) -> Iterator[str]:
    seen: dict[tuple[Cell, ...], Cell] = {}
    for row in rows.values():
        other = seen.setdefault(row[1:-1], row[0])
        if other != row[0]:
            yield f"{row[0]!r} and {other!r} are the same ACL"


def _shown(key: tuple[Cell, ...]) -> str:
    return ", ".join(repr(cell) for cell in key)


def _some(found: Iterator[str]) -> list[str]:
    """Return the first findings, and how many more there are."""
    told = list(found)
    if len(told) <= FINDINGS_MAX:
        return told
    return [*told[:FINDINGS_MAX], f"and {len(told) - FINDINGS_MAX} more like these"]
