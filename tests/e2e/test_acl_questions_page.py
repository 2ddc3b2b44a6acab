"""The pages about questions show what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.lint import CODES
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "how-to" / "acl-questions.md"
PROMPT = "$ doorkeeper acls "


def sessions(text: str) -> list[tuple[str, str]]:
    """Return the commands of a page, fenced or indented, each with what it shows below."""
    blocks = re.findall(r"(?ms)^```\w*\n(.*?)^```$", text)
    indented = re.findall(r"(?m)(?:^    .*\n(?:\n(?=    ))?)+", text)
    blocks += [re.sub(r"(?m)^    ", "", block) for block in indented]
    found = []
    for block in blocks:
        if block.startswith(PROMPT):
            command, _, shown = block.partition("\n")
            found.append((command.removeprefix("$ "), shown.strip("\n")))
    return found


PAGES = (
    ROOT / "docs" / "how-to" / "prove-pii-readers.md",
    ROOT / "docs" / "how-to" / "review-acl-changes.md",
)
REFERENCE = sessions(PAGE.read_text(encoding="utf-8")) + sessions(
    (ROOT / "README.md").read_text(encoding="utf-8")
)
SHOWN = [*REFERENCE, *(each for page in PAGES for each in sessions(page.read_text("utf-8")))]


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[each[0][16:24] for each in SHOWN])
def test_what_is_shown_is_printed(command: str, shown: str, tmp_path: Path) -> None:
    """Letter by letter, stderr too, in a shell at the top of the checkout."""
    program = tmp_path / "doorkeeper"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m doorkeeper "$@"\n')
    program.chmod(0o755)

    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout.strip("\n") == shown


def test_each_command_is_shown() -> None:
    """On the page; explain in the README too, beside a plan."""
    words = [command.split()[2] for command, _ in REFERENCE]

    assert sorted(words) == [
        *("explain", "explain", "explain", "explain"),
        *("lint", "plan", "what-can", "who-can", "who-can"),
    ]


def test_the_page_names_every_code() -> None:
    """With its title, in the order of the codes."""
    rows = re.findall(r"(?m)^\| ([EW]\d{3}) \| (.*?) \|", PAGE.read_text(encoding="utf-8"))

    assert dict(rows) == CODES
