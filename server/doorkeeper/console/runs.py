"""Runs a command in this process, and returns what it would print."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import click
from msgspec import Struct

from doorkeeper.cli.acls.addresses import READER, Reading
from doorkeeper.cli.acls.questions import ABSENT
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.terminal import AUTHOR, OUTPUT, Output, json_text, printable


class Command(Struct, frozen=True):
    """The words of a command, without the program.

    ``replaced`` are pairs of a text in the words, and what the command line shows in its place: of
    a database without its password, of a file that only this process has its name.
    """

    words: tuple[str, ...]
    replaced: tuple[tuple[str, str], ...] = ()
    program: str = "doorkeeper"

    @property
    def line(self) -> str:
        """Return the command line, for a shell."""
        words = [self.program, *map(self.public, self.words)]
        return " ".join(printable(shlex.quote(word)) for word in words)

    def public(self, text: str) -> str:
        """Return a text with the words that people know."""
        for private, shown in self.replaced:
            text = text.replace(private, shown)
        return text


class Answer(Struct, frozen=True):
    """What a command has printed, and its status.

    ``record`` is its JSON. It is None where the command failed; ``messages`` say why then.
    """

    command: Command
    record: Any
    lines: tuple[str, ...]
    messages: tuple[str, ...]
    status: int

    @property
    def failed(self) -> bool:
        """Say whether there is no answer."""
        return self.record is None and not self.lines

    @property
    def absent(self) -> list[str]:
        """Return the rows of --without that are not in the set, each with what was meant."""
        return [text.removeprefix(ABSENT) for text in self.messages if text.startswith(ABSENT)]

    @property
    def json(self) -> str:
        """Return the JSON that the command prints."""
        return self.command.public(json_text(self.record))

    @property
    def text(self) -> str:
        """Return the lines that the command prints."""
        return self.command.public("\n".join(self.lines))


def run(command: Command, read: Callable[..., Reading], *options: str, author: str = "") -> Answer:
    """Run a command with further options; ``read`` returns the ACLs at a location.

    ``author`` is the client id of its changes.
    """
    output = Output()
    caller = click.Context(click.Command("console"))
    caller.meta.update({OUTPUT: output, READER: read, AUTHOR: author})
    status = 0
    try:
        with doorkeeper.make_context("", [*command.words, *options], parent=caller) as context:
            doorkeeper.invoke(context)
    except click.ClickException as error:
        status = error.exit_code
        output.messages.append(printable(error.format_message()))
    except click.exceptions.Exit as end:
        status = end.exit_code
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    messages = tuple(map(command.public, output.messages))
    return Answer(command, output.record, tuple(output.lines), messages, status)
