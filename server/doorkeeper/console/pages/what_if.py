"""The decisions that change when ACLs are added, removed or edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from doorkeeper.acls.formats.csv import binding_of_row, row_of
from doorkeeper.acls.formats.names import FormatError, binding_of
from doorkeeper.acls.model import CLUSTER_NAME, AclBinding
from doorkeeper.console.page import TYPE_OF, Asked, Page, Wrong
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command

_SIGNS: Final = (("add", "--with"), ("remove", "--without"))
_FORM: Final = ("does", "permission", "principal", "operation", "kind", "name", "host")


def commands(asked: Asked) -> Sequence[Command]:
    """Return the command, once there is an ACL to add or to remove."""
    changes = changes_of(asked)[0]
    words = [f"{option}={row}" for field, option in _SIGNS for row in changes[field]]
    if not words:
        return []
    return [asked.command("acls", "diff", *asked.set_words(), *words, "--effective")]


def changes_of(asked: Asked) -> tuple[dict[str, list[str]], str]:
    """Return the rows to add and to remove: those of the link, and the one of the form.

    The text says why the form has no row yet; it is empty for an empty form.

    Raises:
        Wrong: a row of the link cannot be read.
    """
    changes = {
        field: [row for row in "\n".join(asked.fields.get(field, ())).splitlines() if row.strip()]
        for field, _ in _SIGNS
    }
    unfinished = ""
    if asked.get("principal") or asked.get("name"):
        try:
            row = row_of(_binding_in(asked))
            changes["remove" if asked.get("does") == "remove" else "add"].append(row)
        except FormatError as error:
            unfinished = str(error)
    rows = {field: list(dict.fromkeys(map(_checked, rows))) for field, rows in changes.items()}
    return rows, unfinished


def _binding_in(asked: Asked) -> AclBinding:
    kind, name = asked.get("kind", "topic"), asked.get("name")
    is_prefixed = name.endswith("*") and name != "*"
    return binding_of(
        resource=TYPE_OF[kind].name if kind in TYPE_OF else kind,
        name=CLUSTER_NAME if kind == "cluster" else name.removesuffix("*") if is_prefixed else name,
        pattern="PREFIXED" if is_prefixed else "LITERAL",
        principal=asked.get("principal"),
        host=asked.get("host") or "*",
        does=asked.get("operation", "Read"),
        permission=asked.get("permission", "ALLOW"),
    )


def _checked(row: str) -> str:
    """Return a row as commands print it: what is no row could be the name of a file."""
    try:
        return row_of(binding_of_row(row.strip()))
    except FormatError as error:
        raise Wrong(f"{row}: {error}") from error


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the rows of the change, and the decisions of the page that is asked for."""
    try:
        changes, unfinished = changes_of(asked)
    except Wrong:
        changes, unfinished = {"add": [], "remove": []}, ""
    values: dict[str, Any] = {"changes": changes, "unfinished": unfinished}
    # A row that is kept leaves the form; one that is none yet stays there.
    values["prefilled"] = asked if unfinished else asked.without(_FORM)
    if answers:
        effective = answers[0].record["effective"]
        values["absent"] = absent = answers[0].absent
        texts = answers[0].messages
        values["messages"] = [text for text in texts if not text.endswith(tuple(absent))]
        values["effects"] = Rows(effective, asked.number)
        values["allowed"] = sum(region["allowed"] for region in effective)
    return values


PAGE = Page(
    "what-if",
    "What would a change do?",
    "Add and remove ACLs here, and see every decision that would change. Nothing is changed.",
    commands,
    show,
)
