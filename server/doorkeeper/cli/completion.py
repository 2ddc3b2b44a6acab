"""Shell completion: ``doorkeeper completion``, and the values that words can take.

Names of files are left to the shell, which knows about ``~``, quoting and case.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ZshComplete,
    get_completion_class,
)

from doorkeeper.cli.vocabulary.commands import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

PROGRAM = "doorkeeper"
_VARIABLE = "_DOORKEEPER_COMPLETE"


@click.command(
    cls=Command,
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
    """Print the completion script of SHELL (bash 4.4 or newer).

    The script asks doorkeeper for the completions, so it stays valid after an upgrade.
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None, "click has all three"
    script = completion_class(click.Command(PROGRAM), {}, PROGRAM, _VARIABLE)
    click.echo(script.source_template % script.source_vars())


def files(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a word as the name of a file."""
    return [CompletionItem(incomplete, type="file")]


def one_of(values: Iterable[str]) -> Completion:
    """Return a completion to one of these values, in any case."""
    allowed = tuple(values)

    def complete(
        _context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        start = incomplete.lower()
        return [CompletionItem(word) for word in allowed if word.lower().startswith(start)]

    return complete


def several_of(values: Iterable[str]) -> Completion:
    """Return a completion of the last value in a list that commas separate."""
    last = one_of(values)

    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        before, comma, start = incomplete.rpartition(",")
        items = last(context, parameter, start)
        return [CompletionItem(f"{before}{comma}{item.value}") for item in items]

    return complete


def files_behind(prefix: str, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a file behind a prefix such as ``config:``.

    The names are listed here: bash alone, which splits words at colons, could do it itself.
    """
    paths = _paths(incomplete.removeprefix(prefix))
    return [CompletionItem(prefix + path, is_path=True) for path in paths]


def _paths(incomplete: str) -> list[str]:
    folder, slash, start = incomplete.rpartition("/")
    try:
        entries = sorted(Path(f"{folder}{slash}" or ".").iterdir())
    except OSError:
        return []
    paths = [
        f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
        for entry in entries
        if entry.name.startswith(start) and (start or not entry.name.startswith("."))
    ]
    if len(paths) == 1 and paths[0].endswith("/"):
        # A shell adds a blank to the only completion, and the user could not go on into the
        # folder; with the files in it there are several.
        return _paths(paths[0]) or paths
    return paths


class LastingZsh(ZshComplete):
    """Zsh, which runs the script for each word if it is the file of an autoloaded function.

    Click's own script takes the second run for one of ``source``, and completes nothing.
    """

    source_template = ZshComplete.source_template.replace(
        "[-1] == loadautofunc ", "[-1] == (loadautofunc|shfunc) "
    )


class JoinedBash(BashComplete):
    """Bash, for which ``User:alice`` and ``config:server.properties`` are three words each."""

    _kept_characters = 0
    """The length of the part of the last word that bash does not replace."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the last one, and the last one."""
        before, last = super().get_completion_args()
        *words, incomplete = join_at_colons([*before, last])
        replaced = "" if not last.strip(":") else last
        self._kept_characters = len(incomplete) - len(replaced)
        return words, incomplete

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the completions of the part of the last word that bash replaces."""
        items = super().get_completions(args, incomplete)
        if not self._kept_characters:
            return items
        if any(item.is_path for item in items):
            return [CompletionItem("", type="file")]
        for item in items:
            item.value = item.value[self._kept_characters :]
        return items


def join_at_colons(words: Sequence[str]) -> list[str]:
    """Return the words of a command line that bash has split at colons."""
    joined: list[str] = []
    after_colon = False
    for word in words:
        colons = bool(word) and not word.strip(":")
        if joined and word and (after_colon or colons):
            joined[-1] += word
        else:
            joined.append(word)
        after_colon = colons
    return joined
