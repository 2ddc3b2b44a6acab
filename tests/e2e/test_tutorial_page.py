"""The pages about least privilege: their commands, in their order, and the tutorial's test."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from testkit.checkout import ROOT
from testkit.page_commands import Command, Reader, commands, comparable, page
from testkit.testing_examples import run_example

if TYPE_CHECKING:
    from pathlib import Path

TUTORIAL = "tutorial-least-privilege.md"
TEST = re.compile(r"(?ms)^```python\n(.*?)^```$")


def followed(name: str, folder: Path) -> list[Command]:
    """Return the commands of a page as they printed, run one after the other in one folder."""
    (folder / "examples").symlink_to(ROOT / "examples")
    with Reader(folder, folder / "bin") as reader:
        return reader.follow(page(name))


def without_reasons(found: list[Command]) -> list[tuple[str, str]]:
    """Return commands and outputs but lines of reasons, whose numbers and order are of one run."""
    return [
        (line, "\n".join(text for text in shown.splitlines() if not text.startswith("# ")))
        for line, shown in comparable(found)
    ]


def reasons(found: list[Command]) -> list[set[str]]:
    """Return the requests in each line of reasons: ``Produce: WRITE``."""
    return [
        set(re.findall(r"(\w+: [\w ]+?) \(\d+ times?\)", line))
        for command in found
        for line in command.shown.splitlines()
        if line.startswith("# ")
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [(TUTORIAL, 6), ("learn.md", 7)])
def test_page_output_is_correct(name: str, count: int, tmp_path: Path) -> None:
    shown = commands(page(name))

    printed = followed(name, tmp_path)

    assert without_reasons(printed) == without_reasons(shown)
    pairs = zip(reasons(printed), reasons(shown), strict=True)
    # A slow run may have heartbeats as well.
    assert all(found >= expected for found, expected in pairs)
    assert len(shown) == count
    if name == TUTORIAL:
        (block,) = TEST.findall(page(name))
        (tmp_path / "test_service.py").write_text(block, encoding="utf-8")
        assert run_example(tmp_path / "test_service.py", tmp_path) == {"passed": 1}
