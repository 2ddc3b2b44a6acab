"""Which addresses differ from the wanted set, ACL by ACL, since when, and by whose hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorkeeper.console.page import Asked, Page
from doorkeeper.console.pages.history import CHANGES
from doorkeeper.console.rendering import Rows, row_of_record, signed
from doorkeeper.console.runs import Answer, Command, run
from doorkeeper.console.sets import SetState


def commands(asked: Asked) -> Sequence[Command]:
    """Return comparisons with the wanted one; of the chosen address the histories of its rows."""
    wanted = asked.set_state()
    if wanted is None:
        return []
    found = []
    for other in others(asked, wanted):
        words = [asked.address_word(other), asked.address_word(wanted)]
        found.append(asked.command("acls", "diff", *words, *asked.login_words(other, wanted)))
    if asked.get("clusters") and wanted.names_clusters:
        found.append(asked.command("clusters", "drift", asked.address_word(wanted)))
    if asked.get("with") and (histories := _histories(asked, wanted)):
        record = run(found[0], asked.sets.reading_of, "--output", "json").record
        rows = Rows(signed(record or {}), asked.number).items
        names = dict.fromkeys(f"--resource={row['name']}" for _, row in rows)
        words = ["--kind=acl", f"--limit={CHANGES}", *names]
        places = [asked.address_word(state) for state in histories if rows]
        found += [asked.command("history", "list", place, *words) for place in places]
    return found


def others(asked: Asked, wanted: SetState) -> list[SetState]:
    """Return the other addresses that have been read, or the chosen one alone."""
    chosen = asked.get("with") if asked.set_state("with") is not wanted else ""
    return [
        asked.sets.fresh(name)
        for name, state in asked.sets.states.items()
        if state is not wanted and state.reading is not None and chosen in ("", name)
    ]


def _histories(asked: Asked, wanted: SetState) -> list[SetState]:
    return [one for one in (wanted, *others(asked, wanted)) if one.has_history]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the addresses with their differences; the rows of the one that was chosen."""
    wanted = asked.set_state() if asked.sets.states else None
    values: dict[str, Any] = {"wanted": wanted, "compared": [], "rows": None, "clusters": None}
    if wanted is None:
        return values | {"unread": []}
    compared = list(zip(others(asked, wanted), answers, strict=False))
    values["unread"] = [one for one in asked.sets.states.values() if one.reading is None]
    values["compared"] = [(state, answer.record) for state, answer in compared]
    if asked.get("clusters") and len(answers) > len(compared):
        values["clusters"] = answers[len(compared)].record["clusters"]
    if asked.get("with") and compared:
        values["rows"] = rows = Rows(signed(answers[0].record), asked.number)
        histories = _histories(asked, wanted)
        pairs = list(zip(reversed(histories), reversed(answers), strict=False))
        changes = {str(state.address): _changes(answer) for state, answer in pairs}
        values["cut"] = [state for state, answer in pairs if answer.record["before"] is not None]
        values["hands"] = [_hand(sign, row, wanted, changes) for sign, row in rows.items]
        values["silent"] = [one for one in (wanted, compared[0][0]) if one not in histories]
    return values


def _changes(history: Answer) -> dict[tuple[str, bool], Mapping[str, Any]]:
    """Return the newest revision that has set a row, and the newest that has removed it."""
    return {
        (row_of_record(line), line["action"] == "set"): revision
        for revision in reversed(history.record.get("revisions", ()))
        for line in revision["changes"]
        if "permissionType" in line
    }


def _hand(
    sign: str,
    row: Mapping[str, str],
    wanted: SetState,
    changes: Mapping[str, Mapping[tuple[str, bool], Mapping[str, Any]]],
) -> Mapping[str, Any] | None:
    """Return the change since which a row differs; None if no history has it."""
    found = []
    for address, lines in changes.items():
        is_set = (sign == "add") == (address == str(wanted.address))
        if revision := lines.get((row_of_record(row), is_set)):
            found.append({**revision, "address": address, "set": is_set})
    return max(found, key=lambda one: str(one["time"]), default=None)


PAGE = Page(
    "drift",
    "Which clusters differ?",
    "Every address compared with the wanted set: what is missing there, and what is extra.",
    commands,
    show,
    prefers=lambda state: state.is_file,
)
