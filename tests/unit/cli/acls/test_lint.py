"""``doorkeeper acls lint``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.acls.formats.choosing import read
from doorkeeper.cli.commands import doorkeeper
from testkit.acl import READ, allow, topic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Run = Callable[..., Result]

HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
WIDE = "User:alice,TOPIC,LITERAL,*,READ,ALLOW,*"
TWICE = "User:alice,TOPIC,LITERAL,t,READ,ALLOW,*"
IDLE = "User:alice,TOPIC,LITERAL,t,CLUSTER_ACTION,ALLOW,*"
HOST = "User:alice,GROUP,LITERAL,g,READ,ALLOW,localhost"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a line on a file of some ACLs."""
    file = tmp_path / "acls.csv"
    file.write_text(f"{HEADER}\n{WIDE}\n{TWICE}\n{IDLE}\n{HOST}\n")

    def invoke(line: str) -> Result:
        return CliRunner().invoke(doorkeeper, ["acls", "lint", *line.split(), str(file)])

    return invoke


def test_findings_have_code_reason_bindings_and_fix(run: Run) -> None:
    """Status 1; what was assumed and the numbers are on stderr."""
    result = run("")

    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "E001 no effect: no request checks this operation on this resource type",
        f"  {IDLE}",
        "  fix: remove it",
        "  kafka-acls.sh cannot remove it; --fix-file omits it",
    ]
    start = lines.index("E004 redundant: other ACLs cover all of it")
    assert lines[start + 1 : start + 5] == [
        f"  {TWICE}",
        f"    beside {WIDE}",
        "  fix: remove it",
        (
            "  $ kafka-acls.sh --bootstrap-server HOST:PORT --remove --force --allow-principal"
            " User:alice --operation Read --topic t"
        ),
    ]
    assert result.stderr.splitlines()[1:] == [
        (
            "doorkeeper: super.users: not known; super users may do everything (give them with"
            " --super-user)"
        ),
        "doorkeeper: allow.everyone.if.no.acl.found: false (assumed)",
        "doorkeeper: 4 findings: 2 redundant, 2 likely mistakes",
        "doorkeeper: for the meaning of the codes see docs/reference/lint-rules.md",
    ]


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("--select E", ["E001", "E004"]),
        ("--select e004,W", ["E004", "W005", "W007"]),
        ("--select E --ignore E00", []),
        ("--ignore E001 --ignore W", ["E004"]),
    ],
)
def test_codes_are_selected_by_prefix(run: Run, line: str, codes: list[str]) -> None:
    """Without findings the status is 0."""
    result = run(f"{line} --output json")

    assert [each["code"] for each in json.loads(result.stdout)["findings"]] == codes
    assert result.exit_code == (1 if codes else 0)


def test_principal_without_type_is_a_finding(tmp_path: Path) -> None:
    file = tmp_path / "acls.csv"
    file.write_text(f"{HEADER}\nbob,TOPIC,LITERAL,t,WRITE,ALLOW,*\n")

    result = CliRunner().invoke(doorkeeper, ["acls", "lint", str(file)])

    assert result.exit_code == 1
    assert result.stdout.splitlines()[:4] == [
        "W003 malformed principal type: the principal has no type",
        "  bob,TOPIC,LITERAL,t,WRITE,ALLOW,*",
        "  fix: write User:bob",
        "  kafka-acls.sh cannot remove it",
    ]
    asked = CliRunner().invoke(
        doorkeeper,
        ["acls", "what-can", "--principal", "User:bob", str(file)],
    )
    assert (asked.exit_code, asked.stdout.splitlines()[0]) == (0, "none")


@pytest.mark.parametrize("suffix", ["yaml", "txt"])
def test_fix_file_omits_redundant_acls(run: Run, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"lean.{suffix}"

    result = run(f"--fix-file {out}")

    assert result.exit_code == 1
    left = read(out.read_text(), name=out.name)
    assert len(left) == 2
    assert allow("alice", READ, topic("*")) in left
    assert f"{out}: 2 ACLs, without 2 redundant ones" in result.stderr


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--select Q1", "found 'Q1'"),
        ("--fix-file lean.doc", "allowed: .json, .csv"),
        ("--fix-file none/lean.csv", "none/lean.csv: No such file or directory"),
    ],
)
def test_failure_exits_with_2(run: Run, line: str, text: str) -> None:
    """The status is 2, as other linters have it."""
    result = run(line)

    assert result.exit_code == 2
    assert text in result.stderr


def test_file_accepts_findings_until_a_date(tmp_path: Path) -> None:
    file = tmp_path / "acls.yaml"
    file.write_text(
        "version: 1\n"
        "acls:\n"
        "- {resourceType: TOPIC, name: news, principal: 'User:*', operation: WRITE}\n"
        "- {resourceType: TOPIC, name: old, principal: 'User:*', operation: WRITE}\n"
        "accept:\n"
        "- {code: W006, name: news, principal: 'User:*', until: 9999-12-31, reason: public}\n"
        "- {code: W006, name: old, until: '2020-01-31', reason: until the move}\n"
    )

    result = CliRunner().invoke(doorkeeper, ["acls", "lint", str(file), "--output", "json"])

    [found] = json.loads(result.stdout)["findings"]
    assert found["bindings"][0]["name"] == "old"
    note = (
        f"doorkeeper: note: {file} line 7: the acceptance of W006 expired on 2020-01-31: until"
        " the move"
    )
    assert note in result.stderr.splitlines()


@pytest.mark.parametrize(
    ("acceptance", "error"),
    [
        ("{code: W006, name: t}", "line 3: accept 1: missing: reason, until"),
        (
            "{code: W066, name: t, reason: r, until: 2027-01-31}",
            "code: found 'W066'; allowed",
        ),
        ("{code: W006, reason: r, until: 2027-01-31}", "missing: principal or name"),
        ("{code: W006, name: t, reason: r, until: soon}", "line 3: accept 1: until: found 'soon'"),
        ("{code: W006, name: t, reason: '', until: 2027-01-31}", "reason: found ''; expected: a"),
        ("{code: W006, name: t, reason: r, until: 2027-01-31, owner: x}", "unknown: owner"),
        ("x", "line 3: accept 1: found 'x'; expected: a mapping with the keys code"),
    ],
)
def test_invalid_acceptance_is_rejected(tmp_path: Path, acceptance: str, error: str) -> None:
    """The status is 2; the error has file and line."""
    file = tmp_path / "acls.yaml"
    file.write_text(f"version: 1\naccept:\n- {acceptance}\nacls: []\n")

    result = CliRunner().invoke(doorkeeper, ["acls", "lint", str(file)])

    assert result.exit_code == 2
    assert result.stderr.startswith(f"doorkeeper: {file}: line 3: accept 1: ")
    assert error in result.stderr


def test_empty_list_of_known_names_is_refused(run: Run, tmp_path: Path) -> None:
    """A tool that failed leaves an empty file, with which every ACL seems to be for nothing."""
    names = tmp_path / "topics.txt"
    names.write_text("\n")

    found = run(f"--known-topics {names}")

    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"doorkeeper: {names}: found no name; expected: one per line\n"
