"""A proposed file of ACLs: the changes, the decisions that change, and the rules that it breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from doorkeeper.console.page import Asked, Page
from doorkeeper.console.rendering import Rows, signed
from doorkeeper.console.runs import Answer, Command


def commands(asked: Asked) -> Sequence[Command]:
    """Return the plan and the findings of lint, once there is a file."""
    if not asked.get("file"):
        return []
    file = asked.file("file", "proposed.yaml")
    words = ["--effective", *(["--whole"] if asked.get("whole") else [])]
    words += [] if asked.settings.rules is None else [f"--assert={asked.settings.rules}"]
    plan_words = [word for word in asked.set_words() if not word.startswith("--config=")]
    return [
        asked.command("acls", "plan", file, *plan_words, *words),
        asked.command("acls", "lint", file, *asked.settings.policy_words),
    ]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the changes, and the principals that win or lose access."""
    values: dict[str, Any] = {"text": asked.text("file")}
    if answers:
        plan = answers[0].record
        values["changes"] = Rows(signed(plan), asked.number)
        values["effects"] = Rows(plan["effective"], asked.number)
        values["allowed"] = sum(region["allowed"] for region in plan["effective"])
        values["findings"] = Rows(answers[1].record["findings"] if answers[1].record else [], 1)
        values["people"] = _people(plan["effective"])
    return values


def _people(effective: Sequence[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """Return the principals with the numbers of regions that they win and lose, most first."""
    wins = Counter(region["principal"] for region in effective if region["allowed"])
    loses = Counter(region["principal"] for region in effective if not region["allowed"])
    return [(name, wins[name], loses[name]) for name, _ in (wins + loses).most_common(10)]


PAGE = Page(
    "review",
    "Review a proposed file",
    "Paste a file of ACLs, in any format: what it changes, for whom, and which rules it breaks.",
    commands,
    show,
    long=("file",),
    markdown="markdown",
)
