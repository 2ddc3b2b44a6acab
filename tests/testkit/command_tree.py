"""The commands of ``doorkeeper`` and ``doorkeeper-pipeline``, with their options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from doorkeeper.cli.commands import doorkeeper
from doorkeeper_pipeline.cli.commands import pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = {"doorkeeper": doorkeeper, "doorkeeper-pipeline": pipeline}


def tree(command: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command and each group below one, with its words."""
    yield words, command
    if not isinstance(command, click.Group):
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        member = command.get_command(context, name)
        assert member is not None
        yield from tree(member, *words, name)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield all commands and groups of both programs, with the words that call them."""
    for program, root in PROGRAMS.items():
        for words, command in tree(root, program):
            yield " ".join(words), command


def options() -> Iterator[tuple[str, click.Option]]:
    """Yield the options of all commands, with the words of the command."""
    for words, command in commands():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield words, parameter
