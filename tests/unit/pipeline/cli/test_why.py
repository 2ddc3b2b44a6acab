"""Why a grant stays or goes, as a command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from doorkeeper.acls.formats import csv
from doorkeeper.acls.model import AclOperation
from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.errors import PipelineError
from testkit.acl import PREFIXED, READ, WRITE, allow, cluster, deny, topic

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from doorkeeper.acls.model import AclBinding

DAYS = range(1, 5)
OWN = allow("app", READ, topic("pay.in"))
WIDE = allow("app", READ, topic("pay.", PREFIXED))
IDLE = allow("app", WRITE, topic("pay.in"))
SHUT = allow("shut", READ, topic("pay.in"))
STOP = deny("shut", READ, topic("pay.in"))
LACKING = allow("lacking", WRITE, topic("pay.in"))
RENAMED = allow("CN=app,O=acme", READ, topic("pay.in"))
LOST = allow("lost", READ, topic("pay.in"))
ODD = allow("odd", READ, topic("pay.in"))
ODD_IDLE = allow("odd", WRITE, topic("pay.in"))
EVERYBODY = allow("*", AclOperation.DESCRIBE, topic("pay."))
NOBODY = allow("nobody", WRITE, topic("pay.in"))
FORWARDED = allow("zoe", AclOperation.CREATE, cluster("kafka-cluster"))
GRANTS = [
    *(OWN, WIDE, IDLE, SHUT, STOP, LACKING, RENAMED, LOST, ODD, ODD_IDLE, EVERYBODY, NOBODY),
    FORWARDED,
]
CONTRADICTING = ["decisions that contradict the ACLs"]


def line(principal: str, day: int, outcome: str = "Allowed", name: str = "pay.in") -> str:
    return (
        f"[2026-11-{day:02} 07:10:00,250] DEBUG Principal = {principal} is {outcome} Operation ="
        f" Read from host = 10.0.0.7 on resource = Topic:LITERAL:{name} for request = Fetch with"
        " resourceRefCount = 1 (kafka.authorizer.logger)\n"
    )


def called(*arguments: object) -> Result:
    words = [str(each) for each in arguments]
    return CliRunner().invoke(pipeline, [words[0], "--engine", "local", "--quiet", *words[1:]])


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of a run over a log that says something else about each grant."""
    folder = tmp_path_factory.mktemp("why")
    text = "".join(
        line("User:app", day)
        + line("User:shut", day, "Denied")
        + line("User:lacking", day, "Denied")
        + line("User:odd", day, "Denied")
        + line("Broken(name=lost, group=x)", day)
        for day in DAYS
    )
    (folder / "a.log").write_text(text)
    (folder / "acls.csv").write_text(csv.write(GRANTS))
    limits = ("--min-days", 0, "--min-start-days", 0, "--min-agreement", 0)
    made = called(
        *("run", "--log", folder / "a.log", "--acls", f"{folder / 'acls.csv'}@2026-11-01"),
        *("--tables", folder / "out", "--max-quarantined", 50, *limits),
    )
    assert made.exit_code == 4, made.output
    return folder / "out"


def explained(out: Path, grant: AclBinding, *options: object) -> dict[str, Any]:
    done = called("why", "--tables", out, csv.row_of(grant), "--output", "json", *options)
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["explanations"]
    assert found["grant"] == csv.row_of(grant)
    return dict(found)


@pytest.mark.parametrize(
    ("grant", "verdict", "rule", "titles", "principal"),
    [
        (OWN, "KEEP", "used", ["requests that used it"], "User:app"),
        (WIDE, "REMOVE", "unneeded", ["requests that used it"], "User:app"),
        (IDLE, "REMOVE", "unneeded", ["requests of User:app"], "User:app"),
        (SHUT, "ASK", "deny-first", ["requests that it allows but a DENY denied"], "User:shut"),
        (STOP, "KEEP", "deny", ["requests that used it"], "User:shut"),
        (LACKING, "ASK", "refused", ["requests that were refused"], "User:lacking"),
        (RENAMED, "ASK", "renamed", ["requests of User:app"], "User:app"),
        (ODD_IDLE, "NOT_ENOUGH_EVIDENCE", "doubt", CONTRADICTING, "User:odd"),
        (EVERYBODY, "NOT_ENOUGH_EVIDENCE", "doubt", CONTRADICTING, "User:odd"),
        (NOBODY, "REMOVE", "dormant", [], None),
        (FORWARDED, "NOT_ENOUGH_EVIDENCE", "brokers", [], None),
    ],
)
def test_each_verdict_has_examples(
    out: Path, grant: AclBinding, verdict: str, rule: str, titles: list[str], principal: str | None
) -> None:
    found = explained(out, grant)

    assert (found["verdict"], found["rule"]) == (verdict, rule), found
    assert [each["title"] for each in found["examples"]] == titles
    assert {row["principal"] for each in found["examples"] for row in each["rows"]} == (
        {principal} if principal else set()
    )


def test_verdict_has_facts(out: Path) -> None:
    found = explained(out, WIDE)

    assert found["covered_by"] == [csv.row_of(OWN)]
    assert (found["uses"], found["days_observed"], found["given"]) == (4, 4, False)
    assert found["known_from"].startswith("2026-11-01")
    assert found["last_used"].startswith("2026-11-04 07:10:00.25")
    assert found["examples"][0]["rows"][0]["count"] == 4


def test_unreadable_lines_are_examples(out: Path) -> None:
    found = explained(out, LOST, "--examples", 2)

    assert (found["rule"], found["unread"]) == ("unread", True)
    (examples,) = found["examples"]
    assert examples["title"] == "lines that could not be read"
    assert len(examples["rows"]) == 2
    for row in examples["rows"]:
        assert row["file"].endswith("a.log")
        assert "name=lost" in row["text"]
    for grant in (LOST, WIDE):
        assert explained(out, grant, "--examples", 0)["examples"] == []


def test_text_output(out: Path) -> None:
    """The grant, the verdict with its reason, the facts, and examples as Kafka logs them."""
    done = called("why", "--tables", out, csv.row_of(WIDE))

    assert done.exit_code == 0, done.output
    assert done.stdout == (
        "User:app,TOPIC,PREFIXED,pay.,READ,ALLOW,*\nREMOVE (rule unneeded): everything it was"
        " used for in 3 days is also allowed by another ACL\n  age: in a listing of 2026-11-01;"
        " days of the history since then: 3\n  days with decisions: 4\n  uses: 4, last 2026-11-04"
        " 07:10:00,250; decided by it alone: 0\n  covered by:"
        " User:app,TOPIC,LITERAL,pay.in,READ,ALLOW,*\n  requests that used it:\n    [2026-11-04"
        " 07:10:00,250] Principal = User:app is Allowed operation = READ from host = 10.0.0.7 on"
        " resource = Topic:LITERAL:pay.in for request = Fetch (4 times since 2026-11-01)\n"
    )


@pytest.mark.parametrize(
    ("options", "grants"),
    [
        (["--principal", "User:app"], [OWN, IDLE, WIDE]),
        (["--principal", "User:app", "--operation", "Read"], [OWN, WIDE]),
        (["--topic", "pay."], [WIDE, EVERYBODY]),
        (["--topic", "pay.", "--resource-pattern-type", "prefixed"], [WIDE]),
        (
            ["--topic", "pay.in", "--resource-pattern-type", "match", "--principal", "User:app"],
            [OWN, IDLE, WIDE],
        ),
        (["--cluster"], [FORWARDED]),
        ([csv.row_of(OWN), csv.row_of(OWN), "--cluster"], [OWN, FORWARDED]),
    ],
)
def test_grants_are_selected_by_options(
    out: Path, options: list[str], grants: list[AclBinding]
) -> None:
    """As those of kafka-acls.sh; all of them, and each once."""
    done = called("why", "--tables", out, *options, "--output", "json")

    assert done.exit_code == 0, done.output
    assert sorted(each["grant"] for each in json.loads(done.stdout)["explanations"]) == sorted(
        map(csv.row_of, grants)
    )


def test_unknown_grant_suggests_similar_ones(out: Path) -> None:
    missing = csv.row_of(OWN._replace(entry=OWN.entry._replace(principal="User:App")))

    done = called("why", "--tables", out, csv.row_of(IDLE), missing)

    assert isinstance(done.exception, PipelineError)
    first, nearest, *_ = str(done.exception).splitlines()
    assert first == f"no current ACL matches {missing}; the nearest are"
    assert nearest.strip() == csv.row_of(OWN)
    assert not done.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "no ACL given; give a row such"),
        (("User:app",), "found 1 fields; expected: 7; the columns are KafkaPrincipal,"),
        (("--operation", "Raed"), "'Raed'"),
    ],
)
def test_wrong_usage(out: Path, arguments: tuple[str, ...], text: str) -> None:
    """Words that name no grant are wrong usage."""
    done = called("why", "--tables", out, *arguments)

    assert done.exit_code == 2
    assert text in done.stderr


def test_verdicts_require_acls(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(line("User:app", 1))
    called("run", "--log", tmp_path / "a.log", "--tables", tmp_path / "out")

    done = called("why", "--tables", tmp_path / "out", "--principal", "User:app")

    assert isinstance(done.exception, PipelineError)
    assert "--acls FILE" in str(done.exception)
