"""The pages about questions show what the commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testkit.checkout import ROOT
from testkit.page_commands import Command, Reader, commands, page

if TYPE_CHECKING:
    from pathlib import Path

PAGE = page("acl-questions.md")


def questions(text: str) -> list[Command]:
    """Return the commands of a page that ask about ACLs and principals."""
    asks = ("doorkeeper acls ", "doorkeeper whoami ")
    return [each for each in commands(text) if each.line.startswith(asks)]


REFERENCE = questions(PAGE) + questions((ROOT / "README.md").read_text(encoding="utf-8"))
SHOWN = [
    *REFERENCE,
    *questions(page("whoami.md")),
]


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[each.line[16:24] for each in SHOWN])
def test_page_output_is_correct(command: str, shown: str, tmp_path: Path) -> None:
    assert Reader(ROOT, tmp_path).run(command).strip("\n") == shown.strip("\n")
