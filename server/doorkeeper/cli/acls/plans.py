"""Plans as people read them and as files keep them.

    + User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*
    - User:bob,TOPIC,PREFIXED,team-,ALL,ALLOW,*
    Plan: 1 to add, 1 to remove; 14 stay; 3 are not owned.

A file is JSON: a version, what it was planned for, and the records of ``acl.formats.records``.
"""

from __future__ import annotations

import json
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.acl.formats.documents import document_of
from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.formats.records import from_document, records
from doorkeeper.acl.planning import Plan
from doorkeeper.cli.acls.texts import row
from doorkeeper.cli.terminal import painted

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION: Final = 1


def lines(plan: Plan) -> Iterator[str]:
    """Yield a plan for people, coloured on a terminal, in an order that stays."""
    for binding in plan.added:
        yield painted(f"+ {row(binding)}", "green")
    for binding in plan.removed:
        yield painted(f"- {row(binding)}", "red")
    yield summary(plan)


def summary(plan: Plan) -> str:
    """Return the numbers of a plan."""
    foreign = f"; {plan.foreign} are not owned" if plan.foreign else ""
    if not plan:
        return f"Nothing to do: {plan.kept} ACLs are as they should be{foreign}."
    return (
        f"Plan: {len(plan.added)} to add, {len(plan.removed)} to remove; {plan.kept} stay{foreign}."
    )


def record(plan: Plan) -> dict[str, Any]:
    """Return a plan for JSON."""
    return {
        "version": VERSION,
        "added": list(records(plan.added)),
        "removed": list(records(plan.removed)),
        "kept": plan.kept,
        "foreign": plan.foreign,
    }


def text_of(plan: Plan, place: str) -> str:
    """Return the file of a plan for a place."""
    return json.dumps({"place": place, **record(plan)}, ensure_ascii=False, indent=1) + "\n"


def plan_of(text: str) -> tuple[Plan, str | None]:
    """Return the plan of a file, and its place, None where it names none.

    Raises:
        FormatError: it is none.

    """
    document = document_of(text.removeprefix("\ufeff"))
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise FormatError(f"expected is a plan: a mapping with version {VERSION}")
    place = document.pop("place", None)
    if document.keys() != {"version", "added", "removed", "kept", "foreign"}:
        raise FormatError("expected are version, place, added, removed, kept, foreign")
    if not isinstance(place, (str, NoneType)):
        raise FormatError("place: expected is a text")
    parts = {}
    for part in ("added", "removed"):
        try:
            parts[part] = from_document({"version": 1, "acls": document[part]})
        except FormatError as error:
            raise FormatError(f"{part}: {error}") from None
    both = sorted(set(parts["added"]) & set(parts["removed"]))
    if both:
        raise FormatError(f"added and removed: both have {row(both[0])}")
    kept, foreign = document["kept"], document["foreign"]
    if not isinstance(kept, int) or not isinstance(foreign, int):
        raise FormatError("kept, foreign: expected are whole numbers")
    return Plan(tuple(parts["added"]), tuple(parts["removed"]), kept, foreign), place
