"""``doorkeeper acls explain`` for tasks, and for all names with a prefix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from click.testing import Result

FILE = str(ROOT / "examples" / "pii.yaml")
READS = "User:bob,TOPIC,LITERAL,*,READ,ALLOW,*"
JOINS = "User:bob,GROUP,PREFIXED,g,READ,ALLOW,*"
PREFIXED = "--resource-pattern-type prefixed"


def run(line: str) -> Result:
    words = ["acls", "explain", FILE, "--principal", "User:bob", *line.split()]
    return CliRunner().invoke(doorkeeper, [*words, "--exit-status"])


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        (f"--operation Write --topic pii- {PREFIXED}", "SOMETIMES"),
        (f"--operation Write --topic pii-a {PREFIXED}", "ALWAYS"),
        (f"--operation Write --topic pii-health- {PREFIXED}", "NEVER"),
        (f"--operation Read --topic pii- {PREFIXED}", "NEVER"),
        ("--task produce --topic pii-a", "ALWAYS"),
        ("--task produce --topic pii-health", "NEVER"),
        ("--task produce-transactional --topic pii-a --transactional-id bob-1", "ALWAYS"),
        ("--task produce-transactional --topic pii-a --transactional-id eve-1", "NEVER"),
        (
            f"--task produce-transactional --topic pii- --transactional-id bob- {PREFIXED}",
            "SOMETIMES",
        ),
        (
            f"--task produce-transactional --topic pii-a --transactional-id b {PREFIXED}",
            "SOMETIMES",
        ),
        ("--task consume --topic pii-a", "NEVER"),
        (f"--task consume --topic pii-a --with {READS} --with {JOINS}", "ALWAYS"),
    ],
)
def test_verdict_and_exit_status(line: str, verdict: str) -> None:
    """The first line; the status is 3 unless it is always."""
    result = run(line)

    assert result.stdout.splitlines()[0] == f"{verdict}: User:bob"
    assert result.exit_code == (0 if verdict == "ALWAYS" else 3)


def test_json_of_verdict() -> None:
    found = json.loads(run(f"--task produce --topic pii- {PREFIXED} --output json").stdout)

    [need] = found["needs"]
    assert (found["verdict"], need["verdict"], need["operation"]) == (
        "sometimes",
        "sometimes",
        "WRITE",
    )
    assert [(each["name"], each["allowed"]) for each in need["cases"]] == [
        ("pii-x", True),
        ("pii-healthx", False),
    ]
    assert need["cases"][1]["binding"]["permissionType"] == "DENY"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--topic t", "give one of --operation and --task"),
        ("--task produce --operation Write --topic t", "give one of --operation and --task"),
        ("--task produce --group g", "--task produce: found --group; allowed: --topic"),
        ("--task produce --topic t --group g", "--task produce: found --group; allowed: --topic"),
        (
            "--task consume --topic t --cluster",
            "--task consume: found --cluster; allowed: --topic, --group",
        ),
        ("--task fly --topic t", "'fly' is not one of"),
    ],
)
def test_conflicting_options_are_rejected(line: str, said: str) -> None:
    result = run(line)

    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_empty_prefix_is_rejected() -> None:
    words = ["acls", "explain", FILE, "--principal", "User:bob", "--task", "produce", "--topic", ""]
    result = CliRunner().invoke(doorkeeper, words)

    assert result.exit_code == 2
    assert "found an empty name; expected: the name of a resource" in result.stderr
