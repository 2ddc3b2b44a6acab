"""Groups of commands that are imported when they are asked for."""

from __future__ import annotations

import sys

import click
from click.testing import CliRunner

from doorkeeper.cli.lazy import LazyGroup, Member

UNUSED = "doorkeeper.cli.no_such_module"


@click.group(
    cls=LazyGroup,
    # As ours has it: click keeps in a command how its help was first asked for.
    context_settings={"help_option_names": ["-h", "--help"]},
    members={
        "later": Member("doorkeeper.cli.completion:command", "Is imported later."),
        "last": Member(f"{UNUSED}:command", "Cannot be imported at all."),
    },
)
def group() -> None:
    """Have three members."""


@group.command()
def own() -> None:
    """Stand here."""
    click.echo("own")


def test_help_tells_members_without_importing_them() -> None:
    """Those that stand in the group come first; each has its summary."""
    output = CliRunner().invoke(group, ["--help"]).output

    assert output.index("own    Stand here.") < output.index("later  Is imported later.")
    assert "Cannot be imported at all." in output
    assert UNUSED not in sys.modules


def test_a_member_is_run_by_its_name() -> None:
    """Both kinds; others are wrong usage."""
    assert CliRunner().invoke(group, ["own"]).output == "own\n"
    assert "fish" in CliRunner().invoke(group, ["later", "fish"]).output
    assert CliRunner().invoke(group, ["none"]).exit_code == 2
