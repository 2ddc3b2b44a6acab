"""The command lines of the pages: their words are known, and whether they run is known too."""

from __future__ import annotations

import re

import pytest

from testkit import command_lines
from testkit.checkout import ROOT
from testkit.command_lines import FOLLOWED, NOT_FOLLOWED, WITHOUT_PROMPT


def test_programs_know_the_command_lines_of_all_pages() -> None:
    """Each subcommand and option is there, and each value is allowed."""
    found = [
        f"{line.page}: {line.text}: {fault}"
        for line in command_lines.lines()
        if (fault := command_lines.fault(line.text)) is not None
    ]

    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "doorkeeper acls pla acls.yaml",
        "doorkeeper serve --confg server.properties",
        "doorkeeper acls list --output xml",
        "doorkeeper-pipeline runs",
    ],
)
def test_unknown_words_are_noticed(text: str) -> None:
    """A subcommand, an option or a value that is not there is a fault."""
    assert command_lines.fault(text) is not None


def test_each_page_with_commands_is_followed_or_has_a_reason() -> None:
    """And only those pages are listed."""
    pages = {line.page for line in command_lines.lines()}

    assert pages == FOLLOWED.keys() | NOT_FOLLOWED.keys()
    assert FOLLOWED.keys() & NOT_FOLLOWED.keys() == set()


def test_commands_of_followed_pages_have_a_prompt() -> None:
    """So that they run, and their outputs are compared; the others are listed with a reason."""
    assert command_lines.without_prompt() == []
    assert WITHOUT_PROMPT.keys() <= FOLLOWED.keys()


def test_tests_that_follow_pages_name_them() -> None:
    """The test of a page is there and has its name; so are the tests that reasons name."""
    for page, test in FOLLOWED.items():
        assert page.rpartition("/")[2] in (ROOT / test).read_text(encoding="utf-8"), page
    reasons = [
        *NOT_FOLLOWED.values(),
        *(why for each in WITHOUT_PROMPT.values() for why in each.values()),
    ]
    for reason in reasons:
        for test in re.findall(r"tests/[\w/]+\.py", reason):
            assert (ROOT / test).exists(), reason
