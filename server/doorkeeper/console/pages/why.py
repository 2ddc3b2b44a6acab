"""Why a request was denied or allowed, from a pasted line or a filled form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorkeeper.acls.formats.denials import Denial, read_denial
from doorkeeper.console.page import OPERATIONS, TYPE_OF, Asked, Page
from doorkeeper.console.rendering import Rows, row_of_record
from doorkeeper.console.runs import Answer, Command

_KINDS = {kind.name: option for option, kind in TYPE_OF.items()}
_FIELDS = ("principal", "host", "operation", "kind", "name")


def commands(asked: Asked) -> Sequence[Command]:
    """Return the command, once principal, operation and resource are known."""
    question = question_of(asked)
    if not all(question[field] for field in ("principal", "operation", "kind", "name")):
        return []
    kind = question["kind"]
    resource = "--cluster" if kind == "cluster" else f"--{kind}={question['name']}"
    words = [f"--principal={question['principal']}", f"--operation={question['operation']}"]
    if question["host"]:
        words.append(f"--host={question['host']}")
    return [asked.command("acls", "explain", *asked.set_words(), *words, resource)]


def question_of(asked: Asked) -> dict[str, str]:
    """Return the fields of the question: what the form says, else what the pasted text says."""
    denial = _denial(asked)
    pasted = dict.fromkeys(_FIELDS, "")
    if isinstance(denial, Denial):
        pasted = {
            "principal": denial.principal,
            "host": denial.host,
            "operation": denial.operation,
            "kind": _KINDS.get(denial.resource_type, ""),
            "name": denial.name,
        }
    question = {field: asked.get(field) or pasted[field] for field in _FIELDS}
    if question["kind"] == "cluster":
        question["name"] = question["name"] or "kafka-cluster"
    return question


def _denial(asked: Asked) -> Denial | str | None:
    text = asked.text("line")
    return read_denial(text) if text else None


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the question as it was read, and the considered ACLs."""
    denial, question = _denial(asked), question_of(asked)
    # Kafka's log has READ, the select of the form Read.
    by_name = {word.replace("_", "").casefold(): word for word in OPERATIONS}
    operation = question["operation"]
    question["operation"] = by_name.get(operation.replace("_", "").casefold(), operation)
    values: dict[str, Any] = {
        "line": asked.text("line"),
        "question": question,
        "denial": denial if isinstance(denial, Denial) else None,
        "unread": denial if isinstance(denial, str) else None,
        "missing": [
            field
            for field in ("principal", "operation", "name")
            if not question[field] and denial is not None
        ],
    }
    if answers:
        flip = answers[0].record["flip"]
        values["flip"] = {sign: list(map(row_of_record, flip[sign])) for sign in ("add", "remove")}
        values["considered"] = Rows(answers[0].record["considered"], asked.number)
    return values


PAGE = Page(
    "why",
    "Why was it denied?",
    "Paste a line of an authorizer log or an exception: which rule decided, and the least change"
    " that reverses it.",
    commands,
    show,
    long=("line",),
)
