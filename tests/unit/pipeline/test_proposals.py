"""A proposal as a script and as a file."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from doorkeeper.acls.formats import choosing
from doorkeeper.acls.formats.choosing import Format
from doorkeeper.acls.model import AclBinding, AclOperation
from doorkeeper_pipeline.jobs.backtest import ALLOW_TO_DENY
from doorkeeper_pipeline.jobs.least_privilege import NO_PRIVILEGES
from doorkeeper_pipeline.jobs.propose import Proposal
from doorkeeper_pipeline.proposals import PREFIXES_LISTED, file_of, script_of, summary_of
from doorkeeper_pipeline.tables.contents import schema_of
from testkit.acl import PREFIXED, READ, allow, deny, group, topic
from testkit.histories import BEGIN

ODD = 'User:it\'s $HOME; `id` "x" \u202e\x1b[2J'
ADDED = (allow(ODD, READ, topic("orders")), allow("a", AclOperation.DESCRIBE_CONFIGS, topic("t")))
REMOVED = (
    allow("a", READ, group("g-", PREFIXED), "10.0.0.1"),
    deny("a", AclOperation.ALL, topic("*")),
)
STAYING = allow("b", READ, topic("orders"))


def proposal(
    added: tuple[AclBinding, ...] = ADDED,
    removed: tuple[AclBinding, ...] = REMOVED,
    turns: tuple[str, ...] = (),
    prefixes: int = 0,
) -> Proposal:
    rows = [
        {
            **dict.fromkeys(schema_of("backtest"), ""),
            "turn": turn,
            "count": 1_000,
            "first_ts": BEGIN,
            "last_ts": BEGIN,
        }
        for turn in turns
    ]
    row: dict[str, Any] = dict.fromkeys(NO_PRIVILEGES.columns) | {
        "operation": "READ",
        "resource_type": "TOPIC",
    }
    row |= {"resource_name": "p-", "principal": "User:a", "covers": [f"p-{n}" for n in range(6)]}
    return Proposal(
        bindings=tuple(sorted([*added, STAYING])),
        added=added,
        removed=removed,
        least_privilege=pl.DataFrame([row] * prefixes, schema=NO_PRIVILEGES.schema),
        backtest=pl.DataFrame(rows, schema=schema_of("backtest")),
    )


def run(script: str, folder: Path, **environment: str) -> tuple[int, list[list[str]], str]:
    """Run a script with a tool that writes its arguments; return status, calls and errors."""
    tool = folder / "kafka-acls.sh"
    tool.write_text('#!/bin/sh\nprintf "%s\\0" "$@" "end of call"\n')
    tool.chmod(0o755)
    path = f"{folder}:/usr/bin:/bin"
    ended = subprocess.run(
        ["bash", "-s", "--", "--command-config", "my file"],
        input=script.encode(),
        capture_output=True,
        check=False,
        env={"PATH": path, "LC_ALL": "C", **environment},
    )
    calls: list[list[str]] = [[]]
    for argument in ended.stdout.decode().split("\0")[:-1]:
        if argument == "end of call":
            calls.append([])
        else:
            calls[-1].append(argument)
    return ended.returncode, calls[:-1], ended.stderr.decode()


def test_script_runs_in_bash(tmp_path: Path) -> None:
    status, calls, _ = run(script_of(proposal()), tmp_path, BOOTSTRAP="host:9092 x")

    server = ["--bootstrap-server", "host:9092 x", "--command-config", "my file"]
    assert status == 0
    assert calls == [
        [*server, "--add", "--allow-principal", ODD, "--operation", "Read", "--topic", "orders"],
        [
            *server,
            *("--add", "--allow-principal", "User:a"),
            *("--operation", "DescribeConfigs", "--topic", "t"),
        ],
        [
            *server,
            *("--remove", "--force", "--allow-principal", "User:a", "--allow-host", "10.0.0.1"),
            *("--operation", "Read", "--group", "g-", "--resource-pattern-type", "prefixed"),
        ],
        [
            *server,
            *("--remove", "--deny-principal", "User:a"),
            *("--operation", "All", "--topic", "*"),
        ],
    ]


def test_unrepresentable_names_are_comments(tmp_path: Path) -> None:
    odd = allow("a", READ, topic("x\0\nrm -rf /"))
    script = script_of(proposal(added=(odd, ADDED[1])))

    status, calls, _ = run(script, tmp_path, BOOTSTRAP="b")

    # What is not added may stand for what would be removed.
    assert (status, [call[4] for call in calls]) == (0, ["--add"])
    assert "# not removed, since no command can add all of the above" in script
    assert "# no command can add this: 'resourceType=TOPIC, resourceName=x\\x00\\nrm" in script
    assert all(line.isprintable() for line in script.split("\n"))


@pytest.mark.parametrize("how", [Format.YAML, Format.JSON, Format.CSV])
def test_file_contains_the_whole_set(how: Format) -> None:
    made = proposal()

    text = file_of(made, how)

    assert sorted(choosing.read(text, how)) == list(made.bindings)


def test_file_lists_its_risks() -> None:
    risky = replace(proposal(), risks=("7 days are needed,\nnot 2",))

    assert file_of(risky, Format.YAML).startswith(
        "# RISK: principals may lose access: 7 days are needed,\\nnot 2\nversion:"
    )
    assert choosing.read(file_of(risky, Format.YAML), Format.YAML) == list(risky.bindings)
    assert "RISK" not in file_of(risky, Format.CSV)


def test_summary_counts_changes() -> None:
    lines = summary_of(proposal(turns=(ALLOW_TO_DENY, "DENY_TO_ALLOW", ALLOW_TO_DENY),
                                prefixes=PREFIXES_LISTED + 3))  # fmt: skip

    assert "newly forbids 2,000 decisions and newly allows 1,000" in lines[1]
    covered = [each for each in lines if each.startswith("newly covered: ")]
    assert "User:a: READ on the prefix TOPIC p- covers unused names too: p-0," in covered[0]
    assert covered[-1].endswith("by 3 more prefixes")


def test_history_without_allowed_decisions() -> None:
    refused = replace(proposal(turns=("DENY_TO_ALLOW",)), allowed=0)

    assert summary_of(refused)[1] == (
        "of the whole history it newly allows 1,000 decisions; the history has no allowed"
        " decisions, so it cannot show who would lose access"
    )
    assert summary_of(replace(refused, allowed=1))[1] == (
        "of the whole history it newly forbids 0 decisions and newly allows 1,000"
    )
    lost = replace(proposal(turns=(ALLOW_TO_DENY,)), allowed=0)
    assert "newly forbids 1,000 decisions" in summary_of(lost)[1]
