"""Print every text of errors, help, metrics and log events that the product shows, as one list.

    .venv/bin/python tools/texts.py [--where] [FOLDER...]

A text is an argument of an exception, of a function that prints a message, of a log event, or of a
declaration of a key, an option or a metric. Values stand as {}. Someone who knows Kafka, but not
the product, reads the list aloud; what they stumble over is rewritten.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("server", "pipeline", "broker", "protocol")

PRINTING: Final = {
    *("fail", "say", "note", "tell", "show", "echo", "warn", "warning", "error", "info", "event"),
    *("Meaning", "Member", "integer", "text", "boolean", "enumeration", "Counter", "Gauge"),
    *("Histogram", "Metric", "Problem", "Hit", "Rule", "Finding", "Fact"),
}
"""Functions and classes whose texts people read; exceptions are those that are raised."""


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


def calls_in(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls whose arguments people read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield node.exc
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            if (name.id if isinstance(name, ast.Name) else name) in PRINTING:
                yield node


def texts_in(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module that are sentences, with their lines."""
    for call in calls_in(ast.parse(path.read_text("utf-8"))):
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
            items = argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument]
            for item in items:
                text = text_of(item)
                if text and " " in text.strip():
                    yield item.lineno, " ".join(text.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--where", action="store_true", help="print file and line too")
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    asked = parser.parse_args()
    seen: dict[str, str] = {}
    for folder in asked.folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, text in texts_in(path):
                seen.setdefault(text, f"{path.relative_to(ROOT)}:{line}")
    for text, where in seen.items():
        print(f"{where}: {text}" if asked.where else text)


if __name__ == "__main__":
    main()
