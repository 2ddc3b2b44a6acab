"""``doorkeeper acls add``, ``remove`` and ``list`` on a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.stores import open_store, query

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Run = Callable[..., Result]

A = "--allow-principal User:a --operation Read"
TOPIC = "ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)"
ENTRY = "(principal=User:a, host=*, operation=READ, permissionType=ALLOW)"
LISTED = f"Current ACLs for resource `{TOPIC}`:\n\t{ENTRY}\n\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command line on a store in a folder."""
    folder = ["--override", f"doorkeeper.data.dir={tmp_path / 'data'}"]

    def invoke(line: str, *words: str, answer: str = "") -> Result:
        return CliRunner().invoke(
            doorkeeper, ["acls", *line.split(), *folder, *words], input=answer
        )

    return invoke


def test_what_is_added_is_listed_and_removed(run: Run, tmp_path: Path) -> None:
    """The texts are those of kafka-acls.sh; the change log has the server as the author."""
    added = run(f"add --topic t {A}")
    assert (added.exit_code, added.stderr) == (0, "")
    assert added.stdout == f"Adding ACLs for resource `{TOPIC}`: \n \t{ENTRY}\n\n"
    assert run("list").stdout == LISTED
    assert run("list --principal User:a --principal User:b").stdout == (
        f"ACLs for principal `User:a`\n{LISTED}ACLs for principal `User:b`\n"
    )

    removed = run("remove --topic t --force")

    assert (removed.exit_code, removed.output) == (0, "")
    assert run("list").stdout == ""
    assert query(tmp_path / "data", "SELECT DISTINCT author_principal FROM change_log") == [
        ("Server:doorkeeper",)
    ]


@pytest.mark.parametrize(("answer", "rest"), [("y\n", ""), ("n\n", LISTED), ("", LISTED)])
def test_removing_asks(run: Run, answer: str, rest: str) -> None:
    """Only a yes removes; the question says what goes."""
    run(f"add --topic t {A}")

    all_of_it = run("remove --topic t", answer=answer)
    assert all_of_it.exit_code == 0
    assert all_of_it.stdout == (
        f"Are you sure you want to delete all ACLs for resource filter `{TOPIC}`? (y/n)\n"
    )
    assert run("list").stdout == rest
    one = run(f"remove --topic t {A}", answer="n\n")
    assert one.stdout == (
        f"Are you sure you want to remove ACLs: \n \t{ENTRY}\n from resource filter `{TOPIC}`?"
        " (y/n)\n"
    )


def test_wrong_options_are_told_in_a_line(run: Run) -> None:
    """The status is 1, and nothing is opened."""
    for line in ("add --topic t", "remove --force", "list --principal a"):
        result = run(line)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("doorkeeper: ")
        assert result.stderr.count("\n") == 1


def test_what_is_not_there_or_in_use_is_told(run: Run, tmp_path: Path) -> None:
    """No store to list, a server that runs, no authorizer."""
    assert "there is no store" in run("list").stderr
    store = open_store(tmp_path / "data")
    in_use = run("list")
    store.close()
    none = run("list", "--override", "authorizer.class.name=")

    assert in_use.exit_code == none.exit_code == 1
    assert "in use" in in_use.stderr or "another" in in_use.stderr
    assert "authorizer.class.name names no authorizer" in none.stderr


def test_what_the_authorizer_refuses_is_told(run: Run) -> None:
    """Its code and text, and the status is 1."""
    plugin = ("--override", "authorizer.class.name=testkit.plugins.Unhurried")

    refused = run("add --topic refused-t --topic fine-t --allow-principal User:a", *plugin)
    failed = run("add --topic fails-t --allow-principal User:a", *plugin)

    assert refused.exit_code == failed.exit_code == 1
    assert "doorkeeper: POLICY_VIOLATION: not this one\n" in refused.stderr
    assert "testkit.plugins.Unhurried failed in an item: RuntimeError" in failed.stderr
