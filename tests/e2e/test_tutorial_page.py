"""The tutorial about least privilege: its commands, in their order, and its test."""

from __future__ import annotations

import re

import pytest

from testkit.checkout import ROOT
from testkit.page_commands import Reader, commands, page
from testkit.testing_examples import run_example

PAGE = page("tutorial-least-privilege.md")
SESSIONS = commands(PAGE)
TEST = re.compile(r"(?ms)^```python\n(.*?)^```$")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the output of each command, run one after the other in one folder."""
    folder = tmp_path_factory.mktemp("tutorial")
    (folder / "examples").symlink_to(ROOT / "examples")
    outputs = [each.shown for each in Reader(folder, folder / "bin").follow(PAGE)]
    (block,) = TEST.findall(PAGE)
    (folder / "test_service.py").write_text(block, encoding="utf-8")
    outputs.append(str(run_example(folder / "test_service.py", folder)))
    return outputs


def without_reasons(text: str) -> list[str]:
    """Return the lines but those of reasons, whose numbers and times are of one run."""
    return [line for line in text.splitlines() if not line.startswith("# ")]


def reasons(text: str) -> list[set[str]]:
    """Return the requests in each line of reasons: ``Produce: WRITE``."""
    return [
        set(re.findall(r"(\w+: [\w ]+?) \(\d+ times?\)", line))
        for line in text.splitlines()
        if line.startswith("# ")
    ]


@pytest.mark.parametrize("number", range(len(SESSIONS)))
def test_what_is_shown_is_printed(number: int, printed: list[str]) -> None:
    """Letter by letter, stderr too; of reasons, at least the requests that are shown."""
    _, shown = SESSIONS[number]

    assert without_reasons(printed[number]) == without_reasons(shown)
    pairs = zip(reasons(printed[number]), reasons(shown), strict=True)
    # A slow run may have heartbeats as well.
    assert all(found >= expected for found, expected in pairs)


def test_each_step_is_run(printed: list[str]) -> None:
    """Seven commands, and the test of the page."""
    assert len(SESSIONS) == 7
    assert printed[-1] == "{'passed': 1}"
