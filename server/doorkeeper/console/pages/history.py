"""Who could use a resource on a day, and who changed that since."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from doorkeeper.acls.filters import covers
from doorkeeper.acls.model import PatternType, ResourcePattern
from doorkeeper.console.page import TYPE_OF, Asked, Page
from doorkeeper.console.pictures import bars
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command, run

CHANGES: Final = 500
"""The newest changes that a page looks at."""

_EARLIEST: Final = re.compile(r"the earliest is revision ([0-9]+), of (\S+)")


def commands(asked: Asked) -> Sequence[Command]:
    """Return the changes; with a day and a resource who could then."""
    state = asked.set_state()
    if state is None or not state.address.has_history:
        return []
    resource, at = asked.resource_words(), _moment(asked)
    kinds = ["--kind=acl"] if not asked.get("all") else []
    # The command has names; of a prefix the page selects the lines.
    named = [] if asked.is_prefixed else asked.option("--resource", "name")
    since = [f"--since={at}"] if at else []
    words = [asked.address_word(state), *since, *named, *kinds, *asked.option("--author", "author")]
    listing = asked.command("history", "list", *words, f"--limit={CHANGES}")
    if at and resource:
        words = [f"--operation={asked.get('operation', 'Read')}", *resource]
        then = asked.command("acls", "who-can", *asked.set_words(), f"--at={at}", *words)
        # Reading the moment is kept; a moment before the history is that of its first state.
        messages = " ".join(run(then, asked.sets.reading_of, "--output", "json").messages)
        if earliest := _EARLIEST.search(messages):
            at = earliest[1]
            then = asked.command("acls", "who-can", *asked.set_words(), f"--at={at}", *words)
        return [then, listing]
    return [listing]


def _moment(asked: Asked) -> str:
    today = datetime.fromtimestamp(asked.sets.now_s(), UTC).date()
    at = asked.get("at")
    return today.isoformat() if at.lower() == "today" else at


def _lines_of(asked: Asked, revision: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a revision, its lines about the resource apart from others; None without any."""
    lines = revision["changes"]
    first = [line for line in lines if _is_about(asked, line)] if asked.get("name") else lines[:8]
    rest = [line for line in lines if line not in first]
    return {**revision, "first": first, "rest": rest} if first else None


def _is_about(asked: Asked, change: Mapping[str, Any]) -> bool:
    """Say whether a change is of an ACL whose pattern covers the name, or of what has the name."""
    name, kind = asked.get("name"), TYPE_OF[asked.get("kind", "topic")]
    if "resourceType" not in change:
        return name in (change.get("name"), change["key"])
    name = name.removesuffix("*") if asked.is_prefixed else name
    pattern = ResourcePattern(kind, change["name"], PatternType[change["patternType"]])
    is_within = asked.is_prefixed and pattern.name.startswith(name)
    return change["resourceType"] == kind.name and (is_within or covers(pattern, name))


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the principals of that day, and the changes of the page that is asked for."""
    values: dict[str, Any] = dict.fromkeys(("who", "then", "earliest"))
    values["histories"] = [
        name for name, state in asked.sets.states.items() if state.address.has_history
    ]
    if answers:
        page = answers[-1].record
        revisions = [lines for record in page["revisions"] if (lines := _lines_of(asked, record))]
        values |= {
            "revisions": Rows(revisions, asked.number, 20),
            "older": page["before"],
            "picture": bars(Counter(row["time"][:10] for row in revisions), "Changes by day"),
        }
        if len(answers) > 1:
            values["then"] = answers[0].record
            values["who"] = Rows(answers[0].record["who"], 1)
            at = next(word[5:] for word in answers[0].command.words if word.startswith("--at="))
            values["earliest"] = at if at != _moment(asked) else None
    return values


PAGE = Page(
    "history",
    "Who could then, and who changed it?",
    "Who could use a resource on a day, and every change since: when, by whom, from where.",
    commands,
    show,
    prefers=lambda state: state.address.has_history,
)
