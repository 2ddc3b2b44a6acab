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
    store = f"store:{tmp_path / 'data'}"

    def invoke(line: str, *words: str, answer: str = "") -> Result:
        return CliRunner().invoke(doorkeeper, ["acls", *line.split(), store, *words], input=answer)

    return invoke


def test_add_list_and_remove(run: Run, tmp_path: Path) -> None:
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


def test_remaining_acls_are_reported_after_removal(run: Run) -> None:
    for operation in ("Read", "Write", "Describe"):
        run(f"add --topic t --allow-principal User:bob --operation {operation}")
    run(f"add --topic a --resource-pattern-type prefixed {A}")
    run(f"add --topic a {A}")

    none = run("remove --force --topic t --allow-principal User:bob")
    literal = run("remove --force --topic a")
    absent = run("remove --force --topic u")
    another = run("remove --force --topic t --allow-principal User:eve --operation Read")
    exact = run("remove --force --topic t --allow-principal User:bob --operation Read")

    assert [each.exit_code for each in (none, literal, absent, another, exact)] == [0] * 5
    assert none.stderr == (
        "doorkeeper: 0 removed: User:bob has 3 other ACLs on TOPIC t: ALLOW READ, ALLOW WRITE,"
        " ALLOW DESCRIBE; select them with --operation, --deny-principal or --allow-host\n"
    )
    assert literal.stderr == (
        "doorkeeper: 1 PREFIXED ACL on TOPIC a not selected; to select them, add"
        " --resource-pattern-type prefixed\n"
    )
    assert absent.stderr == "doorkeeper: 0 removed: no LITERAL ACL is on TOPIC u\n"
    assert another.stderr == "doorkeeper: 0 removed: no ACL on TOPIC t is for User:eve\n"
    assert exact.stderr == ""


def test_misleading_name_is_added_with_a_note(run: Run) -> None:
    added = run("add --topic t --allow-principal User:a,User:b --operation Read")
    usual = run(f"add --topic t {A}")

    assert added.exit_code == 0
    assert added.stderr == (
        "doorkeeper: note: a list is read as one principal with this exact name; write create one"
        " ACL for each principal\n"
    )
    assert usual.stderr == ""


@pytest.mark.parametrize(("answer", "rest"), [("y\n", ""), ("n\n", LISTED), ("", LISTED)])
def test_removal_asks_for_confirmation(run: Run, answer: str, rest: str) -> None:
    run(f"add --topic t {A}")

    all_of_it = run("remove --topic t", answer=answer)
    assert all_of_it.exit_code == (1 if rest else 0)
    assert all_of_it.stderr == ("doorkeeper: nothing was changed: cancelled\n" if rest else "")
    assert all_of_it.stdout == (
        f"Are you sure you want to delete all ACLs for resource filter `{TOPIC}`? (y/n)\n"
    )
    assert run("list").stdout == rest
    one = run(f"remove --topic t {A}", answer="n\n")
    assert one.stdout == (
        f"Are you sure you want to remove ACLs: \n \t{ENTRY}\n from resource filter `{TOPIC}`?"
        " (y/n)\n"
    )


def test_store_in_use_is_listed_but_not_changed(run: Run, tmp_path: Path) -> None:
    run(f"add --topic t {A}")
    store = open_store(tmp_path / "data")
    listed, added = run("list"), run(f"add --topic u {A}")
    store.close()

    assert (listed.exit_code, listed.stdout) == (0, LISTED)
    assert added.exit_code == 1
    assert "in use by" in added.stderr
    assert "kafka://HOST:PORT" in added.stderr


def test_server_options_match_kafka_acls(tmp_path: Path) -> None:
    two = ("--bootstrap-server", "h:1", "--bootstrap-controller", "h:2")

    result = CliRunner().invoke(doorkeeper, ["acls", "list", *two])

    said = "Only one of --bootstrap-server or --bootstrap-controller must be specified"
    assert (result.exit_code, result.stderr) == (1, f"doorkeeper: {said}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kafka://127.0.0.1:1",), "Error while executing ACL command: 127.0.0.1:1: Connection"),
        (("--bootstrap-controller", "nonsense"), "expected: host:port"),
        (("h:1", "--command-config", "/absent"), "/absent"),
    ],
)
def test_unreachable_cluster_is_one_line(words: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(doorkeeper, ["acls", "list", *words])

    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_authorizer_rejection_is_reported(run: Run) -> None:
    """Its code and text, and the status is 1."""
    plugin = ("--override", "authorizer.class.name=testkit.plugins.Unhurried")

    refused = run("add --topic refused-t --topic fine-t --allow-principal User:a", *plugin)
    failed = run("add --topic fails-t --allow-principal User:a", *plugin)

    assert refused.exit_code == failed.exit_code == 1
    assert "doorkeeper: POLICY_VIOLATION: not this one\n" in refused.stderr
    assert "testkit.plugins.Unhurried failed in an item: RuntimeError" in failed.stderr
