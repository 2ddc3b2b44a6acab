"""The revisions of a store: changed rows, author, and the client of the request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct

from doorkeeper.acls.filters import covers
from doorkeeper.acls.formats.records import records
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Author
from doorkeeper.server.schema.declared import KINDS
from doorkeeper.server.schema.kind import Item
from doorkeeper.server.state.history.moments import time_text
from doorkeeper.server.state.history.reading import WINDOW
from doorkeeper.server.state.storage.portable import COLUMNS, LOG, Portable, Row

SUMMARY_ROWS: Final = 3
"""Rows that a summary names; it counts the others."""

_AUTHOR: Final = slice(
    COLUMNS[LOG].index("author_principal"), COLUMNS[LOG].index("author_correlation_id") + 1
)
_HASH: Final = COLUMNS[LOG].index("hash")
_NODE: Final = COLUMNS[LOG].index("node_id")


class RowChange(Struct, frozen=True):
    """A row that a revision set or deleted."""

    kind: str
    key: str
    value: str
    deleted: bool

    def row(self) -> Any:  # noqa: ANN401 - a row of its kind, as Kind.decode
        """Return the row without secrets; None if this version cannot read it."""
        kind = KINDS.get(self.kind)
        if kind is None:
            return None
        try:
            return kind.decode(Item(self.key, self.value))
        except ValueError:
            return None

    def record(self) -> dict[str, Any]:
        """Return the change for JSON."""
        record: dict[str, Any] = {
            "action": "delete" if self.deleted else "set",
            "kind": self.kind,
            "key": self.key,
        }
        row = self.row()
        if isinstance(row, StoredBinding):
            return record | next(records([row.binding]))
        if row is not None:
            record |= {name: _plain(value) for name, value in row.shown().items()}
        return record

    def text(self) -> str:
        """Return the change in a few words."""
        sign = "-" if self.deleted else "+"
        row = self.row()
        if isinstance(row, StoredBinding):
            (kind, name, pattern), (principal, host, operation, permission) = row.binding
            where = "" if host == "*" else f" from {host}"
            what = f"{permission.name} {principal} {operation.name} {kind.name} {name}"
            return f"{sign} {what} ({pattern.name}){where}"
        if row is None:
            return f"{sign} {self.kind} {self.key}"
        declared = KINDS[self.kind]
        detail = getattr(row, declared.audit_detail) if declared.audit_detail else ""
        name = getattr(row, declared.audit_name)
        return f"{sign} {self.kind} {name} {detail}".rstrip()


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


class Revision(Struct, frozen=True):
    """A change of a store."""

    revision: int
    time_ms: int
    author: Author
    hash: str
    node_id: int | None
    rows: tuple[RowChange, ...]

    def summary(self) -> str:
        """Return the rows in a line; those after the first few are counted."""
        texts = [row.text() for row in self.rows[:SUMMARY_ROWS]]
        more = len(self.rows) - len(texts)
        return "; ".join([*texts, *([f"and {more} more"] if more else [])])

    def record(self) -> dict[str, Any]:
        """Return the revision for JSON."""
        author = self.author
        return {
            "revision": self.revision,
            "time": time_text(self.time_ms),
            "principal": author.principal,
            "host": author.host,
            "listener": author.listener,
            "clientId": author.client_id,
            "software": author.software,
            "correlationId": author.correlation_id,
            "node": self.node_id,
            "hash": self.hash,
            "summary": self.summary(),
            "changes": [row.record() for row in self.rows],
        }


class RevisionFilter(Struct, frozen=True, kw_only=True):
    """The revisions to list: those that meet each condition; an empty one is met by all.

    ``principals`` are those of changed ACLs. ``resources`` are names: of an ACL the pattern matches
    one of them, as ``*`` and prefixes do; of a row of another kind it is the name. ``authors`` are
    the principals that changed them. ``after`` is a revision.
    """

    after: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    principals: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    authors: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()

    def matches(self, revision: Revision) -> bool:
        is_ours = (
            (self.after is None or revision.revision > self.after)
            and (self.since_ms is None or revision.time_ms >= self.since_ms)
            and (self.until_ms is None or revision.time_ms <= self.until_ms)
            and (not self.authors or revision.author.principal in self.authors)
        )
        has_rows = self.kinds or self.principals or self.resources
        return is_ours and (not has_rows or any(map(self._matches_row, revision.rows)))

    def _matches_row(self, row: RowChange) -> bool:
        if self.kinds and row.kind not in self.kinds:
            return False
        if not (self.principals or self.resources):
            return True
        decoded = row.row()
        if isinstance(decoded, StoredBinding):
            principal, pattern = decoded.binding.entry.principal, decoded.binding.pattern
            is_about = any(covers(pattern, name) for name in self.resources)
        else:
            principal = ""
            name = row.key if decoded is None else getattr(decoded, KINDS[row.kind].audit_name)
            is_about = name in self.resources
        return (not self.principals or principal in self.principals) and (
            not self.resources or is_about
        )


def revisions_of(rows: Iterable[Row]) -> Iterator[Revision]:
    """Yield the revisions of complete rows of the log."""
    for number, group in groupby(rows, key=itemgetter(0)):
        of_revision = list(group)
        first = of_revision[0]
        yield Revision(
            number,
            first[6],
            Author._make(first[_AUTHOR]),
            first[_HASH] or "",
            first[_NODE],
            # A log that was changed by hand may have no value.
            tuple(RowChange(row[2], row[3], str(row[4]), bool(row[5])) for row in of_revision),
        )


async def read_revisions(store: Portable, after: int, until: int) -> list[Revision]:
    """Return the revisions after one, up to another, that the log still has."""
    rows: list[Row] = []
    async for chunk in store.rows(LOG, after=after, until=until):
        rows += chunk
    return list(revisions_of(rows))


async def revisions_between(store: Portable, after: int, until: int) -> AsyncIterator[Revision]:
    """Yield ``read_revisions`` in their order, in little memory: a log may have millions."""
    for start in range(after, until, WINDOW):
        for revision in await read_revisions(store, start, min(start + WINDOW, until)):
            yield revision


async def newest_first(store: Portable, before: int | None = None) -> AsyncIterator[Revision]:
    """Yield the revisions of the log, the newest first; those before ``before``."""
    newest, base = await store.position()
    until = newest if before is None else min(newest, before - 1)
    while until > base.revision:
        # Small windows first: most readers want the newest few.
        revisions = await read_revisions(store, max(0, until - WINDOW), until)
        for revision in reversed(revisions):
            yield revision
        until = min(until - WINDOW, revisions[0].revision - 1) if revisions else until - WINDOW


class RevisionPage(Struct, frozen=True):
    """Revisions, the newest first; ``before`` begins the next page, None after the last one.

    ``missing`` are the first and the last number of each gap in the log that was read.
    """

    revisions: Sequence[Revision]
    before: int | None
    missing: Sequence[tuple[int, int]]

    def record(self) -> dict[str, Any]:
        """Return the page for JSON."""
        return {
            "revisions": [revision.record() for revision in self.revisions],
            "before": self.before,
            "missing": [list(gap) for gap in self.missing],
        }


async def read_page(
    store: Portable, filter: RevisionFilter, limit: int, before: int | None = None
) -> RevisionPage:
    """Return the newest revisions that match, at most ``limit``."""
    revisions: list[Revision] = []
    missing: list[tuple[int, int]] = []
    newest, base = await store.position()
    last = newest + 1 if before is None else min(newest + 1, before)
    async for revision in newest_first(store, before):
        if filter.matches(revision) and len(revisions) == limit:
            return RevisionPage(revisions, revisions[-1].revision, missing)
        if revision.revision != last - 1:
            missing.append((revision.revision + 1, last - 1))
        last = revision.revision
        if filter.matches(revision):
            revisions.append(revision)
    if last > base.revision + 1:
        missing.append((base.revision + 1, last - 1))
    return RevisionPage(revisions, None, missing)
