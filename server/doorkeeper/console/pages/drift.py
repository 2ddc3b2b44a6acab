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
    """Return comparisons with the desired one; of the chosen address the histories of its rows."""
    desired = asked.set_state()
    if desired is None:
        return []
    comparisons = []
    for other in others(asked, desired):
        words = [asked.address_word(other), asked.address_word(desired)]
        words += asked.login_words(other, desired)
        comparisons.append(asked.command("acls", "diff", *words))
    if asked.get("clusters") and desired.names_clusters:
        comparisons.append(asked.command("clusters", "drift", asked.address_word(desired)))
    if asked.get("with") and (histories := _histories(asked, desired)):
        record = run(comparisons[0], asked.sets.reading_of, "--output", "json").record
        rows = Rows(signed(record or {}), asked.number).items
        names = dict.fromkeys(f"--resource={row['name']}" for _, row in rows)
        words = ["--kind=acl", f"--limit={CHANGES}", *names]
        addresses = [asked.address_word(state) for state in histories if rows]
        comparisons += [asked.command("history", "list", address, *words) for address in addresses]
    return comparisons


def others(asked: Asked, desired: SetState) -> list[SetState]:
    """Return the other addresses that have been read, or the chosen one alone."""
    chosen = asked.get("with") if asked.set_state("with") is not desired else ""
    return [
        asked.sets.fresh(name)
        for name, state in asked.sets.states.items()
        if state is not desired and state.reading is not None and chosen in ("", name)
    ]


def _histories(asked: Asked, desired: SetState) -> list[SetState]:
    return [state for state in (desired, *others(asked, desired)) if state.address.has_history]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the addresses with their differences; the rows of the one that was chosen."""
    desired = asked.set_state() if asked.sets.states else None
    values: dict[str, Any] = {"desired": desired, "compared": [], "rows": None, "clusters": None}
    if desired is None:
        return values | {"unread": []}
    compared = list(zip(others(asked, desired), answers, strict=False))
    values["unread"] = [state for state in asked.sets.states.values() if state.reading is None]
    values["compared"] = [(state, answer.record) for state, answer in compared]
    if asked.get("clusters") and len(answers) > len(compared):
        values["clusters"] = answers[len(compared)].record["clusters"]
    if asked.get("with") and compared:
        values["rows"] = rows = Rows(signed(answers[0].record), asked.number)
        histories = _histories(asked, desired)
        pairs = list(zip(reversed(histories), reversed(answers), strict=False))
        changes = {str(state.address): _changes(answer) for state, answer in pairs}
        values["cut"] = [state for state, answer in pairs if answer.record["before"] is not None]
        values["hands"] = [_hand(sign, row, desired, changes) for sign, row in rows.items]
        values["silent"] = [state for state in (desired, compared[0][0]) if state not in histories]
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
    desired: SetState,
    changes: Mapping[str, Mapping[tuple[str, bool], Mapping[str, Any]]],
) -> Mapping[str, Any] | None:
    """Return the change since which a row differs; None if no history has it."""
    candidates = []
    for address, lines in changes.items():
        is_set = (sign == "add") == (address == str(desired.address))
        if revision := lines.get((row_of_record(row), is_set)):
            candidates.append({**revision, "address": address, "set": is_set})
    return max(candidates, key=lambda candidate: str(candidate["time"]), default=None)


PAGE = Page(
    "drift",
    "Which clusters differ?",
    "Every address compared with the wanted set: what is missing there, and what is extra.",
    commands,
    show,
    prefers=lambda state: state.is_file,
)
