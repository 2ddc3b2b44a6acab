"""May a principal do a task, or an operation on many names: always, sometimes, never."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from doorkeeper.acls.tasks import TASKS
from doorkeeper.console.page import Asked, Page
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command

WORDS: Final = {
    "produce": "produce",
    "produce-transactional": "produce in transactions",
    "consume": "consume in a group",
}


def commands(asked: Asked) -> Sequence[Command]:
    """Return the command, once a principal and a topic are named."""
    principal, name = asked.option("--principal", "principal"), asked.get("topic")
    if not principal or not name:
        return []
    task = asked.get("task", "produce")
    needed = [kind.name.lower().replace("_", "-") for kind, _ in TASKS.get(task, ())]
    words = [*asked.set_words(), *principal, f"--task={task}"]
    names = {field: asked.get(field) for field in needed if asked.get(field)}
    words += [f"--{field}={value.removesuffix('*')}" for field, value in names.items()]
    if any(value.endswith("*") for value in names.values()):
        words.append("--resource-pattern-type=prefixed")
    return [asked.command("acls", "explain", *words, *asked.option("--host", "host"))]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the needs with the cases of the page that is asked for."""
    needs = answers[0].record["needs"] if answers else ()
    return {"tasks": WORDS, "needs": [(need, Rows(need["cases"], asked.number)) for need in needs]}


PAGE = Page(
    "task",
    "Always, sometimes or never?",
    "Whether a principal may produce, in transactions too, or consume: one topic, or pii-*.",
    commands,
    show,
)
