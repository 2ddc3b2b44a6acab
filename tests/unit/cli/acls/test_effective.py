"""``doorkeeper acls diff --effective``, and questions about the grants of a role."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.acls.formats.csv import COLUMNS
from doorkeeper.cli.commands import doorkeeper
from testkit.acl import READ, allow, deny, topic
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

PII = str(ROOT / "examples" / "pii.yaml")
TEAM = str(ROOT / "examples" / "team-a.yaml")


def run(*words: str) -> Result:
    return CliRunner().invoke(doorkeeper, ["acls", *words])


def test_json_of_effective_changes() -> None:
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


def test_effective_changes_with_reasons(tmp_path: Path) -> None:
    acls = (tmp_path / "before.csv", tmp_path / "after.csv")
    rows = [allow("a", READ, topic("*")), deny("a", READ, topic("x"), "10.0.0.1")]
    for file, bindings in zip(acls, (rows, rows[1:]), strict=True):
        file.write_text(write(bindings, Format.CSV))

    text = run("diff", *map(str, acls), "--effective", "--kafka", "4.3").stdout
    words = ("--effective", "--output", "markdown")
    same, other = (run("diff", PII, each, *words) for each in (PII, TEAM))

    assert "- User:a  READ, DESCRIBE  all topics except x\n" in text
    assert "topic x, from all hosts except 10.0.0.1\n    as User:a to READ topic x, from" in text
    assert "    before: this ACL allows it, and no DENY matches\n      User:a,TOPIC,LIT" in text
    assert "Decisions: 0 more allowed, 3 fewer." in text
    assert other.stdout.startswith("**Decisions: 2 more allowed, 2 fewer.**\n\n```diff\n")
    assert (same.exit_code, "**No decision changes.**" in same.stdout) == (0, True)


def test_idempotent_producer_since_kafka_2_8(tmp_path: Path) -> None:
    file = tmp_path / "acls.csv"
    file.write_text(f"{COLUMNS}\nUser:svc,TOPIC,LITERAL,orders,WRITE,ALLOW,127.0.0.0/8\n")
    asked = ("explain", str(file), "--principal", "User:svc", "--host", "127.0.0.1")

    operation = run(*asked, "--operation", "IdempotentWrite", "--cluster")
    elsewhere = run(*asked[:-1], "10.0.0.1", "--operation", "IdempotentWrite", "--cluster")

    assert operation.stdout.startswith("DENIED")
    assert "User:svc has WRITE on a topic, so idempotent producers work" in operation.stderr
    assert "since Kafka 2.8" not in elsewhere.stderr
