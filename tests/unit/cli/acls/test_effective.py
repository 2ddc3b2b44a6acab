"""``doorkeeper acls diff --effective``, and questions about the grants of a role."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from click.testing import Result

PII = str(ROOT / "examples" / "pii.yaml")
TEAM = str(ROOT / "examples" / "team-a.yaml")


def run(*words: str) -> Result:
    return CliRunner().invoke(doorkeeper, ["acls", *words])


def test_the_record_of_changed_decisions() -> None:
    """One region with an example for each change; an example has both decisions."""
    result = run("diff", TEAM, PII, "--effective", "--output", "json")

    assert result.exit_code == 3
    regions = json.loads(result.stdout)["effective"]
    assert [(each["allowed"], each["principal"], each["name"]) for each in regions] == [
        (False, "User:alice", "invoices"),
        (False, "User:alice", "ord"),
        (True, "User:bob", "pii-"),
        (True, "User:bob", "bob-"),
    ]
    assert regions[2]["exceptNames"] == [{"name": "pii-health", "patternType": "PREFIXED"}]
    example = regions[0]["example"]
    assert (example["before"]["allowed"], example["after"]["allowed"]) == (True, False)


def test_changed_decisions_for_a_pull_request() -> None:
    """Markdown begins with the numbers."""
    result = run("diff", TEAM, PII, "--effective", "--output", "markdown")

    assert result.exit_code == 3
    assert result.stdout.startswith("**Decisions: 2 more allowed, 2 fewer.**\n\n```diff\n")


CREATES = "User:bob,TOPIC,PREFIXED,pii-,CREATE,ALLOW,*"


@pytest.mark.parametrize(("more", "verdict"), [((), "NEVER"), (("--with", CREATES), "ALWAYS")])
def test_the_grants_of_a_role(more: tuple[str, ...], verdict: str) -> None:
    """A role is asked for as a task, with its parameters; a producer's includes CREATE."""
    parameters = ("--parameter", "topic=pii-a", "--parameter", "transactionalId=bob-1")
    question = ("explain", PII, "--principal", "User:bob", "--task", "transactional-producer")

    result = run(*question, *parameters, *more)

    assert result.stdout.splitlines()[0] == f"{verdict}: User:bob"
