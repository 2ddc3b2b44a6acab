"""What people see: colours where somebody looks, and nothing that could move a cursor.

Data goes to stdout, everything else to stderr. Colours are for terminals, and for no terminal
where ``NO_COLOR`` says so (https://no-color.org) or ``TERM`` is dumb.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO


def has_colours(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Say whether colours are wanted on a stream."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return stream.isatty()


def painted(text: str, colour: str, *, bold: bool = False) -> str:
    """Return a text for stdout, in a colour where colours are wanted."""
    if not has_colours(sys.stdout, os.environ):
        return text
    return click.style(text, fg=colour, bold=bold or None)


def printable(text: str) -> str:
    """Return a text in which whatever does not print, line breaks too, is written as an escape."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def show(lines: Iterable[str]) -> None:
    """Print lines for people; what the terminal has no letters for is an escape too."""
    text = "\n".join(lines)
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))


def show_json(record: object, *, indent: int | None = 2) -> None:
    """Print JSON that moves no cursor; where stdout has no letters for it, in ASCII.

    JSON itself escapes the controls of ASCII alone. What is escaped means the same.
    """
    text = json.dumps(record, indent=indent, ensure_ascii=False)
    if not text.replace("\n", "").isprintable():
        text = "".join(
            each if each == "\n" or each.isprintable() else json.dumps(each)[1:-1] for each in text
        )
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(record, indent=indent)
    click.echo(text)


def say(text: str) -> None:
    """Print a message on stderr; data is printed by ``show``."""
    click.echo(f"doorkeeper: {printable(text)}", err=True)
