"""The pages about ACLs in CI and beside topics show what their commands print."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from testkit.checkout import ROOT
from testkit.e2e import acls
from testkit.kafka_target import doorkeeper_target
from testkit.page_commands import Reader, commands, comparable, page

if TYPE_CHECKING:
    from pathlib import Path

TEAMS = ROOT / "examples" / "teams"
FOLDERS = {"acls-in-ci.md": TEAMS, "topics-users-quotas.md": ROOT / "examples" / "teams-topics"}


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_shown_is_printed(name: str, tmp_path: Path) -> None:
    """Letter by letter, stderr too, one command after the other."""
    text = page(name)
    folder = tmp_path / "page"
    shutil.copytree(FOLDERS[name], folder / "acls")
    target = doorkeeper_target()

    try:
        assert acls(folder, "import", str(TEAMS), target.plain)[0] == 0
        printed = Reader(folder, tmp_path / "bin", server=target.plain).follow(text)
    finally:
        target.close()

    assert comparable(printed) == comparable(commands(text))
