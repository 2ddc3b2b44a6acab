"""Who would lose access, as a command."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.evaluation.evidence import NOTHING_ALLOWED
from doorkeeper_pipeline.tables import delta

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = ("--min-days", "0", "--min-agreement", "0")
ACL = "- {{resourceType: TOPIC, name: {name}, principal: 'User:a', operation: READ}}\n"


def record(name: str, outcome: str) -> str:
    """Return a line of a log."""
    return (
        f"[2026-11-22 07:10:00,000] DEBUG Principal = User:a is {outcome} Operation = Read from"
        f" host = h on resource = Topic:LITERAL:{name} (kafka.authorizer.logger)\n"
    )


def acls(path: Path, *names: str) -> Path:
    """Write a set of ACLs that lets User:a read these topics."""
    rows = "".join(ACL.format(name=name) for name in names)
    path.write_text("version: 1\nacls:" + (f"\n{rows}" if rows else " []\n"))
    return path


def called(*arguments: object) -> tuple[int, str]:
    """Return status and output of a command without a JVM."""
    name, *options = map(str, arguments)
    result = CliRunner().invoke(pipeline, [name, "--engine", "local", "--quiet", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of a history in which t1 was read and t2 was refused."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "a.log").write_text(record("t1", "Allowed") * 3 + record("t2", "Denied"))
    current = acls(folder / "current.yaml", "t1")
    status, output = called(
        "run", "--log", folder / "a.log", "--acls", current, "--tables", folder / "out", *LIMITS
    )
    assert status == 0, output
    return folder / "out"


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """Return a copy of these tables."""
    return shutil.copytree(made, tmp_path / "out")


def test_lost_access_exits_with_1(out: Path, tmp_path: Path) -> None:
    """The exit status is 1, the table has the row, the text says who."""
    proposal = acls(tmp_path / "new.yaml")

    status, text = called("backtest", "--tables", out, "--proposal", proposal)

    assert status == 1
    assert "3 decisions (1 distinct, 1 principals) would be denied that was allowed" in text
    assert "User:a from h: READ TOPIC t1" in text
    assert delta.Tables(out).read("backtest")["turn"].to_list() == ["ALLOW_TO_DENY"]


def test_release_decides_whether_networks_match(tmp_path: Path) -> None:
    """A network lets the address in by the rules of 4.4, and is a text by those of 4.3."""
    (tmp_path / "a.log").write_text(record("t1", "Allowed").replace("host = h", "host = 10.0.0.1"))
    current = acls(tmp_path / "current.yaml", "t1")
    proposal = tmp_path / "new.yaml"
    proposal.write_text(current.read_text().replace("operation", "host: 10.0.0.0/8, operation"))
    out = tmp_path / "out"
    read = ("run", "--log", tmp_path / "a.log", "--acls", current, "--tables", out, *LIMITS)

    for release, status in ((), 1), (("--kafka", "4.4"), 0), (("--kafka", "4.3"), 1):
        assert called(*read, *release)[0] == 0

        assert called("backtest", "--tables", out, "--proposal", proposal)[0] == status


def test_denial_by_changed_rules(tmp_path: Path) -> None:
    older = record("t1", "Denied")
    newer = older.replace("Operation = Read", "operation = READ").replace(
        " (kafka", " for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny (kafka"
    )
    acl = "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=t1, patternType=LITERAL,"
    acl += " principal=User:a, host=*, operation=READ, permissionType=DENY])"
    (tmp_path / "a.log").write_text(older + newer + newer.replace("DefaultDeny", acl))
    out = tmp_path / "out"
    assert called("run", "--log", tmp_path / "a.log", "--tables", out)[0] == 0

    status, text = called(
        "backtest", "--tables", out, "--proposal", acls(tmp_path / "new.yaml", "t1")
    )

    assert status == 4, text
    assert text.splitlines()[-3:-1] == [
        NOTHING_ALLOWED,
        "3 decisions (1 distinct, 1 principals) would be allowed that was denied",
    ]
    assert delta.Tables(out).read("backtest").select("count", "rule_before").rows() == [
        (3, "MatchingAcl")
    ]


def test_log_of_denials_cannot_show_lost_access(out: Path, tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text(record("t2", "Denied"))
    both = acls(tmp_path / "both.yaml", "t1", "t2")
    tables = tmp_path / "refusals"
    called("run", "--log", tmp_path / "b.log", "--acls", both, "--tables", tables)

    same = called("backtest", "--tables", tables, "--proposal", both)
    lost = called("backtest", "--tables", tables, "--proposal", acls(tmp_path / "new.yaml", "t1"))
    told = called("backtest", "--tables", out, "--proposal", both)

    assert (same[0], NOTHING_ALLOWED in same[1]) == (4, True)
    assert (lost[0], NOTHING_ALLOWED in lost[1]) == (1, False)
    assert (told[0], NOTHING_ALLOWED in told[1]) == (0, False)


def test_too_little_evidence_cannot_show_who_loses_access(tmp_path: Path) -> None:
    log, out = tmp_path / "a.log", tmp_path / "out"
    log.write_text(record("t1", "Allowed"))
    current = acls(tmp_path / "current.yaml", "t1")
    run = ("run", "--log", log, "--acls", current, "--tables", out)
    asked = ("backtest", "--tables", out, "--proposal", current)
    assert called(*run, *LIMITS, "--brokers", "3")[0] == 0

    few_logs = called(*asked)

    assert (few_logs[0], "found 1 log; required: one for each of 3 brokers" in few_logs[1]) == (
        4, True,
    )  # fmt: skip
    assert called(*run, *LIMITS)[0] == 0
    assert called(*asked)[0] == 0
    assert called(*run)[0] == 0
    assert "warning: not enough evidence: the history is 0 seconds long" in called(*asked)[1]
    assert called(*asked)[0] == 4


def test_unread_lines_of_those_who_lose_acls(tmp_path: Path) -> None:
    """Others may have such lines: a proposal leaves their ACLs alone."""
    log, out = tmp_path / "a.log", tmp_path / "out"
    unread = record("t2", "Allowed").replace("User:a", "User:zed").replace("= Read", "= Readx")
    log.write_text(record("t1", "Allowed") + unread)
    current, without = acls(tmp_path / "current.yaml", "t1", "t2"), tmp_path / "without.yaml"
    current.write_text(current.read_text() + ACL.format(name="t2").replace("User:a", "User:zed"))
    without.write_text(current.read_text().replace(ACL.format(name="t2"), ""))
    zed_lost = acls(tmp_path / "zed.yaml", "t1", "t2")
    read = called("run", "--log", log, "--acls", current, "--tables", out, *LIMITS)
    assert read[0] == 0, read[1]

    status, text = called("backtest", "--tables", out, "--proposal", zed_lost)

    assert "may belong to User:zed" in text
    assert status == 4
    assert called("backtest", "--tables", out, "--proposal", without)[0] == 0
    as_json = called("backtest", "--tables", out, "--proposal", without, "--output", "json")
    assert "User:zed" in "".join(json.loads(as_json[1][as_json[1].index("{") :])["risks"])
