"""Writes docs/reference/state.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper_schemas.states import read_states
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from doorkeeper_schemas.states import Column, StateKind

PAGE = ROOT / "docs" / "reference" / "state.md"
SOURCE = ROOT / "schemas" / "state"

HEAD = """\
# Kinds of state

What a store keeps, one section for each kind. Made from `schemas/state/` by
`make generate`; `make check` keeps it current. How stores keep it, and
when a change is durable, is in [storage.md](../explanation/storage.md).

A store keeps a row as an item: its kind, its key and its value. The key is a text: the only column
of the key, or a JSON array of several. The value is a JSON array of the columns behind the key, in
the order of this page: bytes are in base64, `strings` are an array, a `map` is an object of
strings. Secret columns are null there. They have an array of their own, which is not copied into
the log of changes.

- A version of Doorkeeper that does not know a kind leaves its items as they are.
- A column that was appended later has a **default**: rows that were written without it have that
  value. Columns that a version does not know are skipped when it reads a row, and are lost when it
  writes the row.
- In the audit log a change of a kind is an event with the **subject**, and each row is named by
  the columns in its line.

"""


def page() -> str:
    """Return the text of docs/reference/state.md."""
    kinds = read_states(SOURCE)
    rows = "".join(
        f"| [{kind.name}](#{kind.name}) | {kind.meaning} | {_audit(kind)} |\n" for kind in kinds
    )
    sections = "\n".join(_section(kind) for kind in kinds)
    return f"{HEAD}| kind | a row is | audit |\n|---|---|---|\n{rows}\n{sections}"


def _audit(kind: StateKind) -> str:
    columns = [kind.audit_name, kind.audit_detail] if kind.audit_detail else [kind.audit_name]
    return f"{kind.subject}: {', '.join(f'`{name}`' for name in columns)}"


def _section(kind: StateKind) -> str:
    rows = "".join(
        f"| `{column.name}` | {column.type} | {_notes(column, kind)}| {column.meaning} |\n"
        for column in kind.columns
    )
    return (
        f"## {kind.name}\n{kind.meaning}\n\n"
        f"| column | type | | meaning |\n|---|---|---|---|\n{rows}"
    )


def _notes(column: Column, kind: StateKind) -> str:
    notes = ["key"] if column in kind.key else []
    if column.secret:
        notes.append("secret")
    if column.default is not None:
        notes.append(f"default `{column.default}`")
    return ", ".join(notes) + " " if notes else ""


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    return {PAGE: page()}
