"""``doorkeeper acls assert``: rules that hold, and rules that are broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.acls.model import AclOperation
from doorkeeper.cli.commands import doorkeeper
from testkit.acl import allow, topic
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from click.testing import Result

RULES, CLUSTER = (str(ROOT / "examples" / f"pii-{name}.yaml") for name in ("rules", "cluster"))
ALL = AclOperation.ALL
AUDITOR = "User:audit,TOPIC,LITERAL,*,READ,ALLOW,10.1.0.0/16"
BEFORE = """\
version: 1
rules:
- rule: no more than before
- {rule: no more than before, principal: "User:*", operation: READ}
- {rule: always, principal: "User:p1", operation: ALL, resourceType: TOPIC, name: t, host: 10.0.0.7}
"""


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(doorkeeper, ["acls", "assert", *map(str, words)])


def test_broken_rule_has_a_counterexample() -> None:
    found = {each: run(RULES, CLUSTER, "--output", each) for each in ("text", "json", "markdown")}

    assert [each.exit_code for each in found.values()] == [3, 3, 3]
    lines = found["text"].stdout.splitlines()
    assert lines[0].startswith(f"broken: {RULES}, line 4: only User:team-pay may READ topic")
    assert (lines[1], lines[3]) == ("  reason: personal data of customers", f"    {AUDITOR}")
    assert lines[4] == f"holds: {RULES}, line 11: no principal may ALTER, ALTER_CONFIGS the cluster"
    rules = json.loads(found["json"].stdout)["rules"]
    assert [(each["line"], each["holds"]) for each in rules] == [(4, False), (11, True)]
    assert rules[0]["counterexamples"][0]["principal"] == "User:audit"
    assert found["markdown"].stdout.startswith("**2 rules: 1 hold, 1 broken**\n\n```text\nbroken: ")
    assert run("/no", CLUSTER).stderr == "doorkeeper: /no: No such file or directory\n"
    assert run(CLUSTER, CLUSTER).stderr.startswith(f"doorkeeper: {CLUSTER}: line 3: unknown: acls")


def test_no_more_than_before_compares_with_earlier_acls(tmp_path: Path) -> None:
    rules, nobody, many = (tmp_path / name for name in ("rules.yaml", "nobody.csv", "many.csv"))
    rules.write_text(BEFORE)
    nobody.write_text(write([], Format.CSV))
    many.write_text(write([allow(f"p{each}", ALL, topic("t")) for each in range(12)], Format.CSV))

    unknown, more = run(rules, many), run(rules, many, "--before", nobody)
    same = run(rules, many, "--before", many, "--output", "markdown")

    assert (unknown.exit_code, more.exit_code, same.exit_code) == (2, 3, 0)
    assert "line 3: no more than before requires --before ADDRESS" in unknown.stderr
    lines = [line.partition(", line ")[2] for line in more.stdout.splitlines()]
    assert list(filter(None, lines)) == [
        "3: no more than before: everything",
        "4: no more than before of every principal: READ",
        "5: User:p1 may always do anything with topic t, from 10.0.0.7",
    ]
    assert more.stdout.count("\n  and 2 more; --output json has all\n") == 2
    assert same.stdout == "**3 rules: 3 hold, 0 broken**\n"
