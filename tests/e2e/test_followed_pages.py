"""The pages that are followed from the beginning to the end print what they show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from testkit.checkout import ROOT
from testkit.page_commands import Reader, commands, comparable, page

if TYPE_CHECKING:
    from pathlib import Path

LOG_LINE = re.compile(r"(?ms)^```text\n(Principal = .*?)\n```$")
SLOW = (
    *("acl-sets.md", "acl-files.md", "audit.md", "history.md", "acls-in-git.md", "production.md"),
    *("pipeline.md", "pipeline-reference.md", "clean-up-grants.md"),
    "compare-tools.md",
    "why-no-access.md",
    *("test-your-application.md", "migrate-from-a-cluster.md", "an-authorizer-of-your-own.md"),
)
"""They run a process of Python, of pytest or of the pipeline for each of many steps."""
AUTHOR = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "a"), ("EMAIL", "a@localhost"))
}


@pytest.mark.parametrize(
    "name",
    [
        *("first-acls.md", "monitor.md", "operations-port.md"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW),
    ],
)
def test_page_output_is_correct(name: str, tmp_path: Path) -> None:
    text = page(name)
    folder = tmp_path / "page"
    folder.mkdir()
    for linked in set(re.findall(r"\$PWD/(\w+)", text)):
        (folder / linked).symlink_to(ROOT / linked)

    with Reader(folder, tmp_path / "bin", HOME=str(folder), **AUTHOR) as reader:
        printed = reader.follow(text)
        logged = [line["event"] for line in reader.serving.lines] if reader.serving else []

    assert printed
    assert comparable(printed) == comparable(commands(text))
    assert set(LOG_LINE.findall(text)) <= set(logged)
