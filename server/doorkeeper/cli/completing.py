"""What a word of the command line may become, for the shells that complete it.

A name of a file is left to the shell, which knows more of names than we do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import BashComplete, CompletionItem, ZshComplete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import click

    Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def files(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return that the word names a file."""
    return [CompletionItem(incomplete, type="file")]


def one_of(values: Iterable[str]) -> Completion:
    """Return what completes a word to one of these, in any case."""
    allowed = tuple(values)

    def complete(
        _context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        begun = incomplete.lower()
        return [CompletionItem(each) for each in allowed if each.lower().startswith(begun)]

    return complete


def several_of(values: Iterable[str]) -> Completion:
    """Return what completes the last part of a word, in which there are commas between."""
    last = one_of(values)

    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        before, comma, begun = incomplete.rpartition(",")
        found = last(context, parameter, begun)
        return [CompletionItem(f"{before}{comma}{each.value}") for each in found]

    return complete


def files_behind(prefix: str, incomplete: str) -> list[CompletionItem]:
    """Return words that begin with a prefix and go on with the name of a file.

    No shell knows of that, but bash: for it, what follows a colon is a word.
    """
    found = _paths(incomplete.removeprefix(prefix))
    return [CompletionItem(prefix + each, is_path=True) for each in found]


def _paths(begun: str) -> list[str]:
    folder, slash, start = begun.rpartition("/")
    try:
        entries = sorted(Path(f"{folder}{slash}" or ".").iterdir())
    except OSError:
        return []
    found = [
        f"{folder}{slash}{each.name}{'/' if each.is_dir() else ''}"
        for each in entries
        if each.name.startswith(start) and (start or not each.name.startswith("."))
    ]
    if len(found) == 1 and found[0].endswith("/"):
        # A shell puts a blank behind the only word; what is in the folder is more of them.
        return _paths(found[0]) or found
    return found


class LastingZsh(ZshComplete):
    """Zsh, which runs the script anew for each word where it was found as a function's file.

    Click's own script takes the second run for one of ``source``, and completes nothing.
    """

    source_template = ZshComplete.source_template.replace(
        "[-1] == loadautofunc ", "[-1] == (loadautofunc|shfunc) "
    )


class JoinedBash(BashComplete):
    """Bash, for which ``User:alice`` and ``config:server.properties`` are three words each."""

    _there = 0
    """How much of the last word stands before the part that bash replaces."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the last one, and that."""
        before, last = super().get_completion_args()
        *words, incomplete = joined([*before, last])
        replaced = "" if not last.strip(":") else last
        self._there = len(incomplete) - len(replaced)
        return words, incomplete

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return what the part of the last word may become."""
        found = super().get_completions(args, incomplete)
        if not self._there:
            return found
        if any(each.is_path for each in found):
            return [CompletionItem("", type="file")]
        for each in found:
            each.value = each.value[self._there :]
        return found


def joined(words: Sequence[str]) -> list[str]:
    """Return the words of a line that bash has taken apart at colons."""
    found: list[str] = []
    glued = False
    for each in words:
        colons = bool(each) and not each.strip(":")
        if found and each and (glued or colons):
            found[-1] += each
        else:
            found.append(each)
        glued = colons
    return found
