"""Print every text of errors, help, metrics and log events that the product shows, as one list.

    .venv/bin/python tools/texts.py [--where] [FOLDER...]

A text is an argument of an exception, of a function that prints a message, of a log event, or of a
declaration of a key, an option or a metric; or it is held by a variable that is such an argument.
The rules of configurations have theirs in a file. Values stand as {}. Someone who knows Kafka, but
not the product, reads the list aloud; what they stumble over is rewritten.
"""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from doorkeeper.server.app.rule_texts import FILE, rule_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("server", "pipeline", "broker", "protocol")

PRINTING: Final = {
    *("fail", "say", "note", "tell", "show", "echo", "warn", "event"),
    *("Meaning", "named_option", "Member", "Problem", "problem"),
    *("Finding", "Fact", "_counter", "_gauge", "_histogram"),
    *("Key", "file", "flag", "integer", "java_class", "long", "optional", "password", "text"),
    *("words",),
}
"""Functions and classes whose texts people read; exceptions are those that are raised."""

LOGGING: Final = {"debug", "info", "warning", "error", "exception"}
"""Methods of a log. Their first argument is an event, and is read even if it is one word."""

FORMAT: Final = re.compile(r"[@=<>!]?[\sxcbB?hHiIlLqQnNefdspP0-9{}]*")
"""What is no sentence: a format of ``struct``."""


def text_of(node: ast.expr) -> str | None:
    """Return the text of a literal; values in it are {}."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = (text_of(node.left), text_of(node.right))
        return None if sides == (None, None) else "".join(side or "{}" for side in sides)
    return None


def calls_in(tree: ast.Module) -> Iterator[tuple[ast.Call, bool]]:
    """Yield the calls whose arguments people read, and whether they are log events."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield node.exc, False
        elif isinstance(node, ast.Call):
            is_method = isinstance(node.func, ast.Attribute)
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            called = name.id if isinstance(name, ast.Name) else name
            if called in PRINTING or called in LOGGING:
                yield node, is_method and called in LOGGING


def values_in(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Return what is assigned to each variable of a module and its functions."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return found


def texts_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module that are sentences or log events, with their lines."""
    tree = ast.parse(source)
    values = values_in(tree)
    for call, is_event in calls_in(tree):
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
            items = argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument]
            for item in items:
                parts = item.values if isinstance(item, ast.JoinedStr) else [item]
                named = [
                    each.value if isinstance(each, ast.FormattedValue) else each for each in parts
                ]
                names = [each.id for each in named if isinstance(each, ast.Name)]
                for node in [item, *(node for name in names for node in values.get(name, ()))]:
                    text = " ".join((text_of(node) or "").split())
                    is_read = " " in text or (is_event and argument is call.args[0])
                    if text and is_read and not FORMAT.fullmatch(text):
                        yield node.lineno, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--where", action="store_true", help="print file and line too")
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    asked = parser.parse_args()
    seen: dict[str, str] = {}
    for folder in asked.folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, text in texts_in(path.read_text("utf-8")):
                seen.setdefault(text, f"{path.relative_to(ROOT)}:{line}")
    for code, rule in rule_texts().items():
        seen |= {text: f"{FILE.relative_to(ROOT)} {code}" for text in (rule.title, rule.why)}
    for text, where in seen.items():
        print(f"{where}: {text}" if asked.where else text)


if __name__ == "__main__":
    main()
