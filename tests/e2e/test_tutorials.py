"""The tutorials: each is followed as it stands, and prints what it shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from testkit.page_commands import Reader, commands, comparable, page

if TYPE_CHECKING:
    from pathlib import Path

LOG_LINE = re.compile(r"(?ms)^```text\n(Principal = .*?)\n```$")


@pytest.mark.parametrize(
    "name",
    [
        "first-acls.md",
        "test-your-application.md",
        "an-authorizer-of-your-own.md",
        "acls-in-git.md",
        "clean-up-grants.md",
    ],
)
def test_what_is_shown_is_printed(name: str, tmp_path: Path) -> None:
    """Letter by letter, stderr too; lines of the authorizer log are those of the server."""
    text = page(name)
    folder = tmp_path / "page"
    folder.mkdir()

    with Reader(folder, tmp_path / "bin") as reader:
        printed = reader.follow(text)
        logged = [line["event"] for line in reader.serving.lines] if reader.serving else []

    assert len(printed) >= 4
    assert comparable(printed) == comparable(commands(text))
    assert set(LOG_LINE.findall(text)) <= set(logged)
