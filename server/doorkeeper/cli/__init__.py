"""The command ``doorkeeper``.

commands     the list of subcommands; each module is imported when it is called
serve        doorkeeper serve
store        doorkeeper store backup | restore
config       doorkeeper config check
failures     how a command that cannot go on says so
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its status."""
    from doorkeeper.cli.commands import doorkeeper  # noqa: PLC0415  for who imports only this

    doorkeeper.main(arguments, prog_name="doorkeeper")
