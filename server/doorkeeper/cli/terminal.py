"""Output: data on stdout, messages on stderr, an exit status.

Colours are for terminals, unless ``NO_COLOR`` is set (https://no-color.org) or ``TERM`` is dumb.
Control characters in names that come from servers and files are escaped: they could move the
cursor and forge lines. A caller inside the process, as the console, takes the output of a command
as an ``Output`` instead.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NoReturn, TextIO

import click
from msgspec import Struct, field

FAILED: Final = 1
"""The status of a command that failed."""

NOTHING_CHANGED: Final = "nothing was changed"
"""The end of a command that asked, or was refused, before its first change."""

OUTPUT: Final = "doorkeeper.cli.output"
"""The key of an ``Output`` in the ``meta`` of click's context, where a caller has set one."""

AUTHOR: Final = "doorkeeper.cli.author"
"""The key of the client id of changes in the ``meta``, where a caller has set one."""


class Output(Struct):
    """What a command has printed: ``record`` is its JSON, ``messages`` are those on stderr."""

    record: object = None
    lines: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


def collected_output() -> Output | None:
    """Return the output that the caller of the command collects; None with a terminal."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(OUTPUT)


def author() -> str:
    """Return the client id of changes; empty for that of the command itself."""
    context = click.get_current_context(silent=True)
    return "" if context is None else context.meta.get(AUTHOR, "")


def has_colours(stream: TextIO, environment: Mapping[str, str]) -> bool:
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return stream.isatty()


def paint(text: str, colour: str, *, bold: bool = False) -> str:
    """Return a text for stdout in a colour, where stdout has colours."""
    if collected_output() is not None or not has_colours(sys.stdout, os.environ):
        return text
    return click.style(text, fg=colour, bold=bold or None)


def printable(text: str) -> str:
    """Return a text with escapes for control characters and line breaks."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of texts as lines with aligned columns; control characters are escaped."""
    cells = [[printable(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def show(lines: Iterable[str]) -> None:
    """Print lines on stdout; characters that its encoding lacks are escaped."""
    if (output := collected_output()) is not None:
        output.lines.extend(lines)
        return
    text = "\n".join(lines)
    # A name in another script must not end a command in a terminal that is set to ASCII.
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))


def show_json(record: object, *, indent: int | None = 2) -> None:
    if (output := collected_output()) is not None:
        output.record = record
        return
    click.echo(json_text(record, indent=indent))


def show_result(output: str, record: object, lines: Sequence[str]) -> None:
    """Print the result of a command: its JSON, or lines, if there are any."""
    if output == "json":
        show_json(record)
    elif lines:
        show(lines)


def json_text(record: object, *, indent: int | None = 2) -> str:
    """Return JSON without control characters; in ASCII if stdout lacks characters."""
    text = json.dumps(record, indent=indent, ensure_ascii=False)
    # JSON escapes the control characters of ASCII only, not those of Unicode such as U+009B.
    if not text.replace("\n", "").isprintable():
        text = "".join(
            letter if letter == "\n" or letter.isprintable() else json.dumps(letter)[1:-1]
            for letter in text
        )
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(record, indent=indent)
    return text


def say(text: str) -> None:
    """Print a message on stderr."""
    if (output := collected_output()) is not None:
        output.messages.append(printable(text))
        return
    click.echo(f"doorkeeper: {printable(text)}", err=True)


def retry_reporter() -> Callable[[Exception], None]:
    """Return a function that says why something is tried again, each reason once."""
    seen: set[str] = set()

    def report(error: Exception) -> None:
        if (reason := str(error)) not in seen:
            seen.add(reason)
            say(f"{reason}; trying again")

    return report


def fail(problems: Iterable[object], status: int = FAILED) -> NoReturn:
    """Print each problem as one line on stderr and end the process."""
    output = collected_output()
    # One line each, so that logs keep a message together: servers send texts with line breaks.
    for problem in problems:
        text = printable(" ".join(str(problem).split("\n")))
        if output is not None:
            output.messages.append(text)
            continue
        sys.stderr.write(f"doorkeeper: {text}\n")
    raise SystemExit(status)
