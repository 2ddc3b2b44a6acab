"""The command lines of the project on the pages, and whether the programs know their words."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

import click

from doorkeeper.cli.commands import doorkeeper
from doorkeeper_pipeline.cli.commands import pipeline
from testkit.checkout import ROOT
from testkit.page_commands import BLOCK

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS: dict[str, click.Command] = {"doorkeeper": doorkeeper, "doorkeeper-pipeline": pipeline}
COMMAND = re.compile(
    r"^(?:\$ )?(?:[A-Z_]+=\S+ )?"
    r"((?:doorkeeper(?:-pipeline)?|kafka-[\w-]+\.sh|docker|make|pip|curl|openssl|spark-submit) "
    r"(?:.*\\\n)*.*)",
    re.MULTILINE,
)
# What a program says of files that only a reader of the page has.
OF_READERS = ("does not exist", "No such file")
# Words of a shell after which another command, a file or a comment begins.
ENDS = {"|", ">", ">>", "<", "&&", "||", ";", "&", "#"}


class Line(NamedTuple):
    """A command line of a page."""

    page: str
    text: str


def lines() -> list[Line]:
    """Return the command lines in the code blocks of all pages but the decision records."""
    found = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if path.parent.name != "decisions":
            found += [Line(_name(path), text) for text in _in_blocks(path.read_text("utf-8"))]
    return found


def words(text: str) -> list[str]:
    """Return the words of the first command of a line."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[str] = []
    for word in lexer:
        if word in ENDS or set(word) <= set("|<>&;"):
            # The 2 of "2>&1" is a word of its own here.
            return found[:-1] if word.startswith(">") and found[-1] == "2" else found
        found.append(word)
    return found


def fault(text: str) -> str | None:
    """Return what a program of ours says of a command line that it does not know."""
    name, *arguments = words(text)
    command, context = PROGRAMS.get(name), None
    try:
        while command is not None and "--help" not in arguments:
            context = command.make_context(command.name, list(arguments), parent=context)
            left = [*context._protected_args, *context.args]
            if not isinstance(command, click.Group) or not left:
                break
            _, command, arguments = command.resolve_command(context, left)
    except click.UsageError as error:
        said = error.format_message()
        return None if any(words in said for words in OF_READERS) else said
    return None


def _name(path: Path) -> str:
    return path.relative_to(ROOT / "docs").as_posix()


def _in_blocks(page: str) -> list[str]:
    found = []
    for block in BLOCK.finditer(page):
        body = block["body"] if block["fence"] else re.sub(r"(?m)^    ", "", block["indented"])
        found += COMMAND.findall(re.sub(f"(?m)^{block['indent'] or ''}", "", body))
    return found
