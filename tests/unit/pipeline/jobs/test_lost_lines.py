"""A collector that drops lines: no grant goes for want of them.

Which lines show it is in ``evaluation/test_collection.py``; here whole logs lead to verdicts.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS
from doorkeeper_pipeline.jobs.clients import clients
from doorkeeper_pipeline.tables import delta
from testkit.acl import DESCRIBE, READ, allow, group, topic
from testkit.histories import Asking, asked_of
from testkit.pipeline_runs import NOON, Output

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

DAYS, MEMBERS = 40, 8
BEGIN = NOON - dt.timedelta(days=DAYS)
HEAD = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
IDLE = "User:c0,TOPIC,LITERAL,idle,READ,ALLOW,*\n"


def line(at: dt.datetime, member: int, api: str, operation: str, kind: str, name: str) -> str:
    return (
        f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}] DEBUG Principal = User:c{member} is"
        f" Allowed Operation = {operation} from host = 10.0.0.{member} on resource ="
        f" {kind}:LITERAL:{name} for request = {api} with resourceRefCount = 1"
        " (kafka.authorizer.logger)\n"
    )


def of_a_day(member: int, day: int) -> list[str]:
    """Return what a member of a group asks on a day; once within the history it begins."""
    at = BEGIN + dt.timedelta(days=day, minutes=13 * member, milliseconds=37 * day)
    requests = [
        ("Fetch", "Read", "Topic", 0),
        ("Heartbeat", "Read", "Group", 0),
        *(("OffsetCommit", "Read", kind, 180) for kind in ("Group", "Topic")),
    ]
    if day == 3 + 4 * member:
        requests += [
            ("FindCoordinator", "Describe", "Group", 300),
            ("JoinGroup", "Read", "Group", 300),
            ("SyncGroup", "Read", "Group", 302),
        ]
    return [
        line(at + dt.timedelta(seconds=late), member, api, operation, kind, f"{kind[0]}{member}")
        for api, operation, kind, late in requests
    ]


def logged() -> list[str]:
    return [
        each for day in range(DAYS) for member in range(MEMBERS) for each in of_a_day(member, day)
    ]


def without(*words: str) -> list[str]:
    """Return the log of clients that do not ask for some requests."""
    return [each for each in logged() if not any(word in each for word in words)]


def run(folder: Path, lines: Sequence[str], **options: int) -> tuple[str, list[str]]:
    """Return the rule of the verdict about a grant that is never used, and the warnings."""
    (folder / "a.log").write_text("".join(lines))
    rows = [
        f"User:c{each},{kind},LITERAL,{kind[0]}{each},READ,ALLOW,*\n"
        for each in range(MEMBERS)
        for kind in ("TOPIC", "GROUP")
    ]
    (folder / "acls.csv").write_text(HEAD + "".join(rows) + IDLE)
    out = Output(folder / "out", str(folder / "a.log"))
    limits = DEFAULT_THRESHOLDS._replace(**options)
    made = out.run(acls=(f"{folder / 'acls.csv'}@2026-08-01",), thresholds=limits)
    usage = delta.Tables(out.out).read("grant_usage").to_dicts()
    (rule,) = [row["rule"] for row in usage if row["resource_name"] == "idle"]
    return rule, made.run["warnings"]


LOST = "not enough evidence to remove an ACL: "
UNCHECKED = "not checked: whether a collector dropped lines"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: logged()[::10], "requests that write two lines"),
        (lambda: without("OffsetCommit")[::10], "have no initial requests"),
    ],
)
def test_incomplete_log_removes_nothing(
    tmp_path: Path, make: Callable[[], list[str]], reason: str
) -> None:
    rule, warnings = run(tmp_path, make())

    assert rule == "collector"
    assert any(each.startswith(LOST) and reason in each for each in warnings), warnings


def test_limit_tolerates_lost_lines(tmp_path: Path) -> None:
    rule, _ = run(tmp_path, logged()[::10], coverage=0)

    assert rule == "unneeded"


@pytest.mark.parametrize(
    "make",
    [
        logged,
        # In a few minutes everything is missing.
        lambda: [each for at, each in enumerate(logged()) if not 100 <= at < 120],
    ],
)
def test_complete_log_of_many_clients(tmp_path: Path, make: Callable[[], list[str]]) -> None:
    assert run(tmp_path, make()) == ("unneeded", [])


def test_unchecked_completeness_is_reported(tmp_path: Path) -> None:
    rule, warnings = run(
        tmp_path, [each for each in logged() if "User:c0" in each and "Fetch" in each]
    )

    assert rule == "unneeded"
    assert [each for each in warnings if each.startswith(UNCHECKED)]


def test_group_requests_of_principals(tmp_path: Path) -> None:
    of_alice = [
        ("OffsetCommit", READ, "g"),
        ("Heartbeat", READ, "g"),
        ("FindCoordinator", DESCRIBE, "g"),
        ("JoinGroup", READ, "g"),
        ("SyncGroup", READ, "g"),
        ("ConsumerGroupHeartbeat", READ, "g"),
        ("DescribeGroups", DESCRIBE, "g"),
        ("Heartbeat", READ, "shut"),
        ("JoinGroup", READ, "shut"),
    ]
    asking = [
        Asking(question=_question("alice", does, ResourceType.GROUP, name), api=api)
        for api, does, name in of_alice
    ]
    fetch = _question("bob", READ, ResourceType.TOPIC, "t")
    asking += [Asking(question=fetch, count=3), Asking(question=fetch._replace(name="shut"))]
    grants = [
        *(allow("alice", READ, group("g")), allow("bob", READ, topic("t"))),
        *(allow("*", AclOperation.ALL, group("other")), allow("carol", READ, group("*"))),
    ]

    rows = clients(asked_of(tmp_path, asking, grants))["clients"].to_dicts()

    assert [tuple(row.values()) for row in rows] == [
        ("User:alice", 0, 1, 2, 1, 3, 2, True),
        ("User:bob", 3, 0, 0, 0, 0, 0, False),
    ]
    assert list(rows[0])[1:-1] == [
        *("fetches", "commits", "heartbeats", "look_ups", "joins", "syncs"),
    ]


def _question(user: str, does: AclOperation, kind: ResourceType, name: str) -> Question:
    return Question(f"User:{user}", "10.0.0.1", does, kind, name)
