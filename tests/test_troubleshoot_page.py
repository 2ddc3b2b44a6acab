"""docs/how-to/troubleshoot.md: each text of Doorkeeper's own is still in its source."""

from __future__ import annotations

import ast
import errno
import os
import re

from testkit.checkout import ROOT
from testkit.page_commands import page

PAGE = page("troubleshoot.md")
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
OF_THE_SYSTEM = {os.strerror(errno.ECONNREFUSED)}
SHORTEST = 8
"""Of the parts of a text between its gaps, shorter ones could be anywhere."""


def texts(section: str) -> list[str]:
    """Return the texts in the table of a section."""
    return ROW.findall(PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0])


def source() -> str:
    """Return all strings of the server's source, also the fixed parts of f-strings."""
    return "\n".join(
        node.value
        for path in (ROOT / "server" / "doorkeeper").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_our_texts_are_in_the_source() -> None:
    """Between the gaps of names and numbers, letter by letter."""
    strings = source()
    ours = texts("Doorkeeper's commands") + texts("Doorkeeper's log")
    parts = {part.strip(": ") for text in ours for part in text.split("...")} - OF_THE_SYSTEM

    assert len(ours) >= 20
    assert [part for part in parts if len(part) >= SHORTEST and part not in strings] == []


def test_texts_stand_once() -> None:
    """Whoever searches the page for a text finds one row of its table."""
    rows = ROW.findall(PAGE)

    assert len(rows) == len(set(rows)) >= 40
