"""Consistency check of a store: its log has no gap, and its items are the result of the log.

Each item carries the revision that set it. One pass over the log keeps the last change of each key;
then every item must fit:

item's revision in the log       the last change of its key has this revision and value item's
revision before the log   the log, pruned up to there, has no change of its key, and the base has
                          the item; revision 0 are the rows that the store was created with

Each key that the log set last must have an item, and each row of the base that the log does not
change. Thus the items are the result of the log on the base. Secrets are not in the log and are not
compared. Kinds that this version does not know are checked too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from msgspec import Struct

from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.storage.portable import BASE, ITEM, LOG, Cell, Portable, Row

FINDINGS_MAX: Final = 20
"""Longest list of findings of one kind."""

Key = tuple["Cell", "Cell"]
"""A kind and a key."""


class _LastChange(Struct, frozen=True):
    """The last change of a key."""

    revision: int
    deleted: bool
    value: Cell


class _LogScan:
    """One pass over the change log."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.newest = 0
        self.last: dict[Key, _LastChange] = {}
        self.findings: list[str] = []
        self._item = -1

    def take(self, row: Row) -> None:
        revision, item, deleted = row[0], row[1], bool(row[5])
        if self.first is None:
            self.first = self.newest = revision
        elif revision not in (self.newest, self.newest + 1):
            self._note(f"revision {revision} follows revision {self.newest}")
        expected = self._item + 1 if revision == self.newest and self._item >= 0 else 0
        if item != expected:
            self._note(f"revision {revision}: item {item} instead of item {expected}")
        self.newest, self._item = revision, item
        key = (row[2], row[3])
        before = self.last.get(key)
        if deleted and before is not None and before.deleted:
            self._note(f"revision {revision} deletes {_name(key)}, which does not exist")
        self.last[key] = _LastChange(revision, deleted, row[4])

    def _note(self, text: str) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(f"{LOG}: {text}")


async def findings(store: Portable) -> list[str]:
    """Return all faults of a store, one line each; none if it is consistent."""
    faults = await store.findings()
    header = await store.header()
    log = _LogScan()
    async for chunk in store.rows(LOG):
        for row in chunk:
            log.take(row)
    faults += log.findings
    if log.newest != header.revision:
        faults.append(
            f"{LOG}: its newest revision is {log.newest}; the store's is {header.revision}"
        )
    rows: dict[Key, tuple[Cell, int]] = {}
    async for chunk in store.rows(ITEM):
        rows.update(((kind, key), (value, at)) for kind, key, value, _, at in chunk)
    base: dict[Key, tuple[Cell, int]] = {}
    async for chunk in store.rows(BASE):
        base.update(((kind, key), (value, at)) for kind, key, value, at in chunk)
    by_kind: dict[Cell, list[str]] = {}
    for kind, text in chain(
        _row_findings(rows, log), _base_findings(rows, base, log), _duplicate_acls(rows)
    ):
        by_kind.setdefault(kind, []).append(text)
    for kind, texts in by_kind.items():
        more = len(texts) - FINDINGS_MAX
        faults += [f"{kind}: {text}" for text in texts[:FINDINGS_MAX]]
        faults += [f"{kind}: and {more} more like these"] if more > 0 else []
    return faults


def _row_findings(
    rows: Mapping[Key, tuple[Cell, int]], log: _LogScan
) -> Iterator[tuple[Cell, str]]:
    """Yield the faults of items: the kind, and a line."""
    for key, (value, revision) in rows.items():
        name, last, text = repr(key[1]), log.last.get(key), ""
        if revision > log.newest:
            text = f"{name} is of revision {revision}, which is not in the log yet"
        # Items from before the first revision are not in a pruned log, those of 0 in none.
        elif last is None and revision >= (log.first or 1):
            text = f"{name} is of revision {revision}, whose log does not contain it"
        elif last is not None and last.deleted:
            text = f"{name} exists, but revision {last.revision} deleted it"
        elif last is not None and last.revision != revision:
            text = f"{name} is of revision {revision}; revision {last.revision} set it last"
        elif last is not None and last.value != value:
            text = f"{name} differs from revision {revision}"
        if text:
            yield key[0], text
    for key, last in log.last.items():
        if not last.deleted and key not in rows:
            yield key[0], f"{key[1]!r} is missing, but revision {last.revision} set it"


def _base_findings(
    rows: Mapping[Key, tuple[Cell, int]], base: Mapping[Key, tuple[Cell, int]], log: _LogScan
) -> Iterator[tuple[Cell, str]]:
    """Yield the differences between the base and the items that the log does not change."""
    for key in rows.keys() | base.keys():
        row = rows.get(key)
        is_before_log = row is None or row[1] < (log.first or 1)
        if is_before_log and key not in log.last and row != base.get(key):
            yield key[0], f"{key[1]!r} is not the same in the base, and no revision changed it"


def _duplicate_acls(rows: Mapping[Key, tuple[Cell, int]]) -> Iterator[tuple[Cell, str]]:
    """Yield ACLs that have two ids."""
    seen: dict[Cell, Cell] = {}
    for (kind, key), (value, _) in rows.items():
        if kind == ACL.name and (other := seen.setdefault(value, key)) != key:
            yield kind, f"{key!r} and {other!r} are the same ACL"


def _name(key: Key) -> str:
    return f"the {key[0]} {key[1]!r}"
