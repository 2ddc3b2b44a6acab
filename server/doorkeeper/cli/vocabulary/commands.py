"""Commands, groups and options as ``doorkeeper`` and ``doorkeeper-pipeline`` have them.

The help lists options under headings. An unknown word names its neighbours.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

import click

OPTIONS: Final = "Options"
QUESTION: Final = "Question"
POLICY: Final = "Settings of the server"
CONNECTION: Final = "Connection"
EVIDENCE: Final = "Evidence"
ENGINE: Final = "Engine"
OUTPUT: Final = "Output"

HEADINGS: Final = (QUESTION, OPTIONS, EVIDENCE, POLICY, CONNECTION, ENGINE, OUTPUT)
"""The headings of options in a help text, in their order."""


_SIMILAR: Final = 0.7
"""How similar a command is that is suggested; difflib.SequenceMatcher.ratio."""


class Option(click.Option):
    """An option under a heading; ``default_text`` describes a default that is not a value.

    ``choices`` says what each choice stands for.
    """

    def __init__(
        self,
        *arguments: Any,
        heading: str,
        meaning: str,
        default_text: str | None = None,
        choices: Mapping[str, str] | None = None,
        **attributes: Any,
    ) -> None:
        repeated = " May be repeated." if attributes.get("multiple") else ""
        default = f"  [default: {default_text}]" if default_text else ""
        words = "; ".join(f"{choice}: {text}" for choice, text in (choices or {}).items())
        attributes["help"] = f"{meaning}{repeated}{words and f' {words}.'}{default}"
        super().__init__(*arguments, **attributes)
        self.heading = heading
        self.meaning = meaning


class Command(click.Command):
    """A command whose help has headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings; --help is the last one."""
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for parameter in self.get_params(ctx):
            # --help is Click's own.
            if isinstance(parameter, click.Option) and (row := parameter.get_help_record(ctx)):
                rows[getattr(parameter, "heading", OUTPUT)].append(row)
        sections = [(heading, records) for heading, records in rows.items() if records]
        if len(sections) == 1:
            sections = [(OPTIONS, sections[0][1])]
        for heading, records in sections:
            with formatter.section(heading):
                formatter.write_dl(records)


class Group(click.Group):
    """A group whose commands are of these classes; it suggests a command for an unknown word."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, and the other words."""
        word = args[0]
        # Click's own suggestion leaves out commands that are imported when they are called.
        if (
            not word.startswith("-")
            and not ctx.resilient_parsing
            and self.get_command(ctx, word) is None
        ):
            names = difflib.get_close_matches(word, self.list_commands(ctx), cutoff=_SIMILAR)
            hint = f" Did you mean {' or '.join(map(repr, names))}?" if names else ""
            raise click.UsageError(f"No such command {word!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


Group.group_class = Group
