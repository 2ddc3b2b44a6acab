"""``doorkeeper completion``: the script that lets a shell complete our commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

PROGRAM = "doorkeeper"
_VARIABLE = "_DOORKEEPER_COMPLETE"


@click.command(
    name="completion",
    epilog="""
\b
Exit statuses: 0 printed; 2 wrong usage.

\b
Examples:
  doorkeeper completion bash > ~/.local/share/bash-completion/completions/doorkeeper
  doorkeeper completion zsh > "${fpath[1]}/_doorkeeper"
  doorkeeper completion fish > ~/.config/fish/completions/doorkeeper.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    It asks doorkeeper itself, so it need not be made anew after an upgrade. bash 4.4 or newer.
    """
    found = get_completion_class(shell)
    assert found is not None, "click has all three"
    script = found(click.Command(PROGRAM), {}, PROGRAM, _VARIABLE)
    click.echo(script.source_template % script.source_vars())
