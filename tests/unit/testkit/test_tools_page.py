"""The page of tools and clients is current, and its differences have reasons."""

from __future__ import annotations

from testkit import client_cases, tool_cases, tools_page
from testkit.clients import DRIVERS

GO = {"sarama": "IBM/sarama", "kadm": "twmb/franz-go/pkg/kadm", "kafka-go": "segmentio/kafka-go"}
"""The modules of the programs in Go."""


def test_the_page_is_current() -> None:
    """If not: PYTHONPATH=tests python -m testkit.tools_page."""
    assert tools_page.PAGE.read_text(encoding="utf-8") == tools_page.page()


def test_differences_are_explained_and_used() -> None:
    """Each difference of a line has a reason, and each reason a line."""
    of_cases = [case.outcomes for case in tool_cases.lines()]
    of_cases += [client.outcomes for client in client_cases.clients()]
    outcomes = {outcome for each in of_cases for outcome in each.values()}

    assert outcomes - {tool_cases.WORKS, tool_cases.REFUSED} == set(tool_cases.differences())


def test_files_exist() -> None:
    """Each file that a line names has a content, and each content a line."""
    words = {word for line in tool_cases.lines() for word in line.words.split()}
    named = {word[1:] for word in words if word.startswith("@")}

    assert named == set(tool_cases.data()["files"])


def test_releases_in_go_are_the_pinned_ones() -> None:
    """The page names the release that is built."""
    pinned = (DRIVERS / "go" / "go.mod").read_text(encoding="utf-8")
    releases = {each.program: each.release for each in client_cases.clients()}

    for program, module in GO.items():
        assert f"github.com/{module} v{releases[program]}\n" in pinned
