"""A catalog as lines of JSON: the output of the process that reads a large file.

Each line is an array: the kind of its rows, and the rows. The last line is ``end`` with the digest
of the file; without it the output is incomplete.

 ["topics", [["orders", 3, 1, false, {"retention.ms": "1000"}], ...]]
 ["groups", [["readers", "Stable", "classic", "consumer", "range", [member, ...]], ...]]
 ["problems", [["catalog.yaml", 14, "topics[2].partitions", "must be a whole number ..."], ...]]
 ["end", "<hex>"]

A line has as many rows as fit into 16 KiB, but at least one, so that the server reads it in slices.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.server.resources.catalog.errors import CatalogError, CatalogProblem
from doorkeeper.server.resources.catalog.loading import Catalog, CatalogIdentity
from doorkeeper.server.resources.catalog.topics import DeclaredTopic
from doorkeeper.server.resources.cluster import Group, GroupMember

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.base.slices import Slices

# The server parses such a line in a third of a millisecond.
LINE_BYTES: Final = 16 * 1024


class Unfinished(ValueError):
    """The lines of a catalog are incomplete or invalid."""


def lines_of(catalog: Catalog) -> Iterator[str]:
    """Yield the lines of a catalog."""
    yield from _lines("topics", catalog.topics)
    yield from _lines("groups", map(_row_of, catalog.groups.values()))
    yield _line("end", json.dumps(catalog.mark.digest.hex()))


def lines_of_problems(error: CatalogError) -> Iterator[str]:
    """Yield the lines of an invalid catalog."""
    yield from _lines("problems", error.problems)
    yield _line("end", json.dumps(""))


def catalog_from(lines: Iterable[bytes], file: str) -> Slices[Catalog]:
    """Return the catalog of these lines, one line in each slice.

    Raises:
        CatalogError: with the problems in the lines.
        Unfinished: the last line is missing, or a line is invalid.

    """
    topics: list[DeclaredTopic] = []
    groups: dict[str, Group] = {}
    problems: list[CatalogProblem] = []
    digest = None
    for line in lines:
        kind, rows = _read(line)
        # Further output is not from lines_of(), but for example from a library that prints.
        if digest is not None:
            raise Unfinished("there is text after the end")
        if kind == "topics":
            topics += [DeclaredTopic(*row) for row in rows]
        elif kind == "groups":
            groups.update((row[0], _group_of(row)) for row in rows)
        elif kind == "problems":
            problems += [CatalogProblem(*row) for row in rows]
        elif kind == "end":
            digest = bytes.fromhex(rows)
        else:
            raise Unfinished(f"there is {kind!r}")
        yield
    if digest is None:
        raise Unfinished("there is no end")
    if problems:
        raise CatalogError(problems)
    return Catalog(CatalogIdentity(file, digest), tuple(topics), groups)


def _read(line: bytes) -> tuple[str, Any]:
    try:
        kind, rows = json.loads(line)
    except (TypeError, ValueError) as error:
        raise Unfinished(f"a line is not a pair: {error}") from error
    return kind, rows


def _lines(kind: str, rows: Iterable[Any]) -> Iterator[str]:
    texts: list[str] = []
    size = 0
    for row in rows:
        texts.append(json.dumps(row, separators=(",", ":")))
        size += len(texts[-1])
        if size >= LINE_BYTES:
            yield _line(kind, f"[{','.join(texts)}]")
            texts, size = [], 0
    if texts:
        yield _line(kind, f"[{','.join(texts)}]")


def _line(kind: str, rows: str) -> str:
    return f'["{kind}",{rows}]\n'


def _row_of(group: Group) -> tuple[object, ...]:
    members = [
        (*member[:4], _text_of(member.metadata), _text_of(member.assignment))
        for member in group.members
    ]
    # The fields behind the members are those of groups that clients have joined.
    return (*group[:5], members)


def _group_of(row: list[Any]) -> Group:
    group_id, state, group_type, protocol_type, protocol, members = row
    decoded = tuple(map(_member_of, members))
    return Group(group_id, state, group_type, protocol_type, protocol, decoded)


def _member_of(row: list[Any]) -> GroupMember:
    *fields, metadata, assignment = row
    decoded = map(base64.b64decode, (metadata, assignment))
    return GroupMember(*fields, *decoded)


def _text_of(content: bytes) -> str:
    return base64.b64encode(content).decode()
