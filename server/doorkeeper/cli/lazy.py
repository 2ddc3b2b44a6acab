"""A group of commands that are imported when they are called, so that others start fast.

Lists, help and completion have the name and a summary of each without importing it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from doorkeeper.cli.vocabulary.commands import Group


class Member(NamedTuple):
    """The place of a command, as ``module:name``, and a summary in a line."""

    target: str
    summary: str


class LazyGroup(Group):
    """A group with commands of its own, followed by members that are imported later."""

    def __init__(
        self,
        *arguments: Any,
        members: Mapping[str, Member],
        **options: Any,
    ) -> None:
        """Take the members by name."""
        super().__init__(*arguments, **options)
        self._members = members

    def list_commands(self, _context: click.Context) -> list[str]:
        """Return all names, in the order of the definitions."""
        return list(self._summaries())

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return a command, imported if it is a member; None for an unknown name."""
        member = self._members.get(name)
        if member is None:
            return super().get_command(context, name)
        module, _, attribute = member.target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    # Click's own would call get_command for each summary, and so import every member.
    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and summaries."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries().items()))

    # As above.
    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a word to names of commands, then options."""
        names = [
            CompletionItem(name, help=summary)
            for name, summary in self._summaries().items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, context, incomplete)

    def _summaries(self) -> dict[str, str]:
        own = {
            name: command.get_short_help_str(limit=80) for name, command in self.commands.items()
        }
        return own | {name: member.summary for name, member in self._members.items()}
