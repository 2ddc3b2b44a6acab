"""Changes of ACLs in Doorkeeper's audit log: when each came and went, and by whose request.

The log knows changes from its begin on. An ACL that it removes, and never added, was there before.
Give the present set beside it (``--acls acls.txt --acls audit``): it has the ACLs that never
changed. The file that the server writes at present is read up to its last whole line.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from doorkeeper.acls.formats.names import FormatError, binding_of
from doorkeeper.acls.model import AclBinding
from doorkeeper_pipeline.bindings import row_of
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources import reading, trail
from doorkeeper_pipeline.sources.files import identify, list_files
from doorkeeper_pipeline.sources.json_lines import EPOCH
from doorkeeper_pipeline.sources.recognising import SOURCES
from doorkeeper_pipeline.tables import contents

SOURCE = "audit-log"
OPEN = "*.jsonl.open"
"""The name of the file of a node that its server writes."""

_MARK = b'"change"'
CLOCKS_DIFFER_NS = 60 * 10**9


class Event(msgspec.Struct, frozen=True):
    """A change; events of one revision are in the order of their numbers."""

    kind: str
    node: int = 0
    seq: int = 0
    ts_ns: int = 0
    subject: str = ""
    revision: int | None = None
    principal: str | None = None
    added: tuple[trail.Binding, ...] | None = ()
    removed: tuple[trail.Binding, ...] | None = ()


_DECODER = msgspec.json.Decoder(Event)


def read(folder: Path) -> pl.DataFrame:
    """Return the ACLs that the audit log in a folder added or removed, as rows of bindings.

    Raises:
        Unreadable: a file cannot be read, there is none, or a change in it is none.

    """
    events = {(event.node, event.seq): event for event in _changes(folder)}
    rows: list[dict[str, Any]] = []
    in_force: dict[AclBinding, dict[str, Any]] = {}
    for event in _in_order(events.values()):
        at = EPOCH + dt.timedelta(microseconds=event.ts_ns // 1000)
        for acl in event.removed or ():
            binding = _binding(folder, event, acl)
            row = in_force.pop(binding, None)
            if row is None:
                row = {**row_of(binding), "source": SOURCE}
                rows.append(row)
            row.update(valid_to=at, to_revision=event.revision, removed_by=event.principal)
        for acl in event.added or ():
            binding = _binding(folder, event, acl)
            if binding not in in_force:
                row = {**row_of(binding), "source": SOURCE}
                row.update(
                    valid_from=at,
                    known_from=at,
                    from_revision=event.revision,
                    created_by=event.principal,
                )
                in_force[binding] = row
                rows.append(row)
    return pl.DataFrame(rows, schema=contents.schema_of("bindings"), orient="row")


def _in_order(events: Iterable[Event]) -> list[Event]:
    """Return changes in the order of their revisions: clocks of nodes differ.

    By their times alone where revisions are missing, or begin anew with another store.
    """
    by_time = sorted(events, key=attrgetter("ts_ns", "node", "seq"))
    by_revision = sorted(by_time, key=lambda event: event.revision or 0)
    goes_back = any(
        after.ts_ns < before.ts_ns - CLOCKS_DIFFER_NS for before, after in pairwise(by_revision)
    )
    return by_time if goes_back else by_revision


def _changes(folder: Path) -> Iterator[Event]:
    # Before the others: one that is closed in between has another name, and is among them.
    current = [(path, text) for path in sorted(folder.rglob(OPEN)) if (text := _whole_of(path))]
    paths = list_files([str(folder)])
    if not paths and not current:
        raise Unreadable(
            f"{folder}: found neither a Doorkeeper store nor an audit log in this folder"
        )
    for path in paths:
        file = identify(path)
        if file is not None and file.source != trail.SOURCE:
            raise Unreadable(
                f"{path}: found {SOURCES[file.source]}; a folder of ACLs has a store of Doorkeeper"
                " or its audit log"
            )
        for offset, block in reading.whole_lines(path, reading.compression(path), 0, None):
            yield from _changes_in(path, offset, block)
    for path, text in current:
        yield from _changes_in(path, 0, text)


def _whole_of(path: Path) -> bytes:
    """Return the whole lines of a file that a server may close, and give another name."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    return text[: text.rfind(b"\n") + 1]


def _changes_in(path: Path, offset: int, block: bytes) -> Iterator[Event]:
    for line in block.split(b"\n"):
        if _MARK not in line:
            continue
        try:
            event = _DECODER.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise Unreadable(f"{path}: after byte {offset}: {error}") from error
        if event.kind == "change" and event.subject == "acls":
            yield event


def _binding(folder: Path, event: Event, acl: trail.Binding) -> AclBinding:
    try:
        return binding_of(
            resource=acl.resource_type,
            name=acl.resource_name,
            pattern=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            does=acl.operation,
            permission=acl.permission,
        )
    except FormatError as error:
        raise Unreadable(f"{folder}: event {event.seq} of node {event.node}: {error}") from error
