"""What people see: colours where somebody looks, and nothing that could move a cursor.

Data goes to stdout, everything else to stderr. Colours are for terminals, and for no terminal
where ``NO_COLOR`` says so (https://no-color.org) or ``TERM`` is dumb.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping
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


def say(text: str) -> None:
    """Print a message on stderr; data is printed by ``click.echo``."""
    click.echo(f"doorkeeper: {printable(text)}", err=True)
