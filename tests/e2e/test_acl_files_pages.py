"""The pages about ACLs in version control, in CI and beside topics show what commands print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from testkit.acls_command import acls
from testkit.checkout import ROOT
from testkit.kafka_target import doorkeeper_target

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = re.compile(r"(?ms)^(````?)\n(\$ .*?)^\1$")
TEAMS = ROOT / "examples" / "teams"
SERVER = "localhost:9092"
"""The server that the pages name."""

AUTHOR = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "a"), ("EMAIL", "a@localhost"))
}


def shown(page: str) -> list[str]:
    """Return the commands of a page with what it shows below each."""
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    return [
        f"$ {each}" for _, block in BLOCK.findall(text) for each in re.split(r"(?m)^\$ ", block)[1:]
    ]


def printed(folder: Path, page: str) -> list[str]:
    """Return the commands of a page with what they print, run in one folder."""
    programs = folder / "bin"
    programs.mkdir()
    program = programs / "doorkeeper"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m doorkeeper "$@"\n')
    program.chmod(0o755)
    target = doorkeeper_target()
    found = []
    try:
        assert acls(folder, "import", str(TEAMS), target.plain)[0] == 0
        for each in shown(page):
            command = each.removeprefix("$ ").partition("\n")[0]
            done = subprocess.run(
                ["bash", "-c", command.replace(SERVER, target.plain)],
                cwd=folder,
                env=os.environ | AUTHOR | {"PATH": f"{programs}:{os.environ['PATH']}"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=60,
                check=False,
            )
            found.append(f"$ {command}\n{done.stdout.replace(target.plain, SERVER)}")
    finally:
        target.close()
    return found


FOLDERS = {"acls-in-ci.md": TEAMS, "topics-users-quotas.md": ROOT / "examples" / "teams-topics"}


@pytest.mark.parametrize("page", ["acls-in-version-control.md", *FOLDERS])
def test_what_is_shown_is_printed(page: str, tmp_path: Path) -> None:
    """Letter by letter, stderr too, one command after the other."""
    if page in FOLDERS:
        shutil.copytree(FOLDERS[page], tmp_path / "acls")
    else:
        (tmp_path / "acls").mkdir()

    assert printed(tmp_path, page) == shown(page)
