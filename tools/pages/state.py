"""The kinds of docs/reference/state.md, from ``schemas/state``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_schemas.states import read_states
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from doorkeeper_schemas.states import Column, StateKind

SOURCE = ROOT / "schemas" / "state"


def text() -> str:
    """Return the table of kinds, and a section for each."""
    kinds = read_states(SOURCE)
    rows = "".join(
        f"| [{kind.name}](#{kind.name}) | {kind.meaning} | {_audit(kind)} |\n" for kind in kinds
    )
    sections = "\n".join(_section(kind) for kind in kinds)
    return f"| kind | a row is | audit |\n|---|---|---|\n{rows}\n{sections}"


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
