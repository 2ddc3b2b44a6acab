"""``doorkeeper-pipeline completion``: commands and options at the press of a key."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper_pipeline.cli.failures import HELP, STATUSES, show

PROGRAM = "doorkeeper-pipeline"
VARIABLE = "_DOORKEEPER_PIPELINE_COMPLETE"


@click.command("completion", cls=Command, epilog=STATUSES, context_settings=HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      doorkeeper-pipeline completion bash > ~/.local/share/bash-completion/completions/doorkeeper-pipeline
      doorkeeper-pipeline completion fish > ~/.config/fish/completions/doorkeeper-pipeline.fish
    """  # noqa: E501  \b is Click's mark of a paragraph that is not wrapped
    script = get_completion_class(shell)
    assert script is not None
    show(script(context.find_root().command, {}, PROGRAM, VARIABLE).source())
