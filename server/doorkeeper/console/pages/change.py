"""The plan after which an address has the wanted ACLs, and the form that applies it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from doorkeeper.console.page import Asked, Page, Wrong
from doorkeeper.console.rendering import Rows, signed
from doorkeeper.console.runs import Answer, Command
from doorkeeper.console.sets import SetState


def commands(asked: Asked) -> Sequence[Command]:
    """Return the plan; none without two addresses."""
    desired = asked.set_state()
    if desired is None or len(asked.sets.states) < 2:
        return []
    target = target_of(asked)
    words = [asked.address_word(desired), asked.address_word(target), "--effective"]
    words += ["--whole"] if asked.get("whole") else []
    words += asked.login_words(desired, target)
    words += [word for word in asked.settings.policy_words if not word.startswith("--config=")]
    return [asked.command("acls", "plan", *words)]


def target_of(asked: Asked) -> SetState:
    """Return the address that is changed: the field ``with``, or the first but the wanted one.

    Raises:
        Wrong: there is none.
    """
    desired = asked.set_state()
    target = asked.set_state("with") if asked.get("with") else None
    others = [state for state in asked.sets.states.values() if state is not desired]
    # A form begins with the wanted one in both fields.
    if target is None or target is desired:
        target = others[0] if others else None
    if target is None:
        raise Wrong(
            "a change requires two addresses on the command line: one with the desired ACLs, and"
            " one to change"
        )
    return target


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the changes and the decisions that change, and whether they can be made here."""
    if not answers:
        return {"changes": None}
    plan, target = answers[0].record, target_of(asked)
    session, address = asked.session, target.address
    return {
        "target": target,
        "desired": asked.set_state(),
        "changes": Rows(signed(plan), asked.number),
        "effects": Rows(plan["effective"], asked.number),
        "allowed": sum(region["allowed"] for region in plan["effective"]),
        "digest": digest_of(plan),
        "number": len(signed(plan)),
        "refused": answers[0].status == 1,
        "can_be_changed": address.is_live or address.is_store,
        "may": asked.settings.allow_changes and session is not None and session.may_change,
    }


def digest_of(plan: Mapping[str, Any]) -> str:
    """Return what only plans with the same changes at the same address have."""
    parts = [plan[word] for word in ("place", "cluster", "added", "removed")]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


PAGE = Page(
    "change",
    "Apply the wanted ACLs",
    "The changes that give an address the ACLs of the wanted set, and the decisions that"
    " they change. Nothing is changed before you confirm it.",
    commands,
    show,
    prefers=lambda state: state.is_file,
)
