"""Authorization requests of kafka-authorizer.log and of the audit log."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper.acls.recorded_access import least_acls
from doorkeeper.cli.learn.log_files import LoggedRequests, UnreadableLog
from testkit.acl import WRITE, allow, topic

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.acls.recorded_access import RecordedAccess


def record(
    operation: str,
    resource: str,
    api: str,
    *,
    level: str = "DEBUG",
    outcome: str = "Allowed",
    second: int = 12,
) -> str:
    """Return a record of a broker 4.3.1; the rule is that of a super user, or none."""
    rule = "SuperUser" if outcome == "Allowed" else "DefaultDeny"
    return (
        f"[2026-11-26 10:11:{second},345] {level} Principal = User:svc is {outcome} operation ="
        f" {operation} from host = 10.0.0.7 on resource = {resource} for request = {api} with"
        f" resourceRefCount = 1 based on rule {rule} (kafka.authorizer.logger)"
    )


def event(**fields: object) -> str:
    """Return an event of the audit log, a line."""
    found: dict[str, object] = {
        "kind": "decision",
        "seq": 1,
        "node": 1,
        "ts_ns": 5_000_000_000,
        "count": 3,
        "first_ns": 5_000_000_000,
        "principal": "User:svc",
        "host": "10.0.0.7",
        "api": "Produce",
        "operation": "WRITE",
        "resource_type": "TOPIC",
        "pattern_type": "LITERAL",
        "resource_name": "orders",
        "outcome": "ALLOWED",
        "log_if_allowed": True,
        "log_if_denied": True,
        "reference_count": 1,
    }
    return json.dumps({**found, **fields})


def read(path: Path, *lines: str) -> list[RecordedAccess]:
    """Return the accesses of a log with these lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    logged = LoggedRequests()
    logged.read(path)
    assert not logged.unreadable
    return logged.accesses()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return the path of a log."""
    return tmp_path / "kafka-authorizer.log"


def test_equal_requests_are_counted(log: Path) -> None:
    (access,) = read(
        log,
        record("WRITE", "Topic:LITERAL:orders", "Produce", second=30),
        record("WRITE", "Topic:LITERAL:orders", "Produce", second=12),
    )

    assert (access.api, access.allowed, access.reported, access.uses) == ("Produce", True, True, 2)
    assert access.question == (
        "User:svc",
        "10.0.0.7",
        AclOperation.WRITE,
        ResourceType.TOPIC,
        "orders",
    )
    assert access.first == dt.datetime(2026, 11, 26, 10, 11, 12, 345_000, tzinfo=dt.UTC)


def test_records_end_with_the_logger_name(log: Path) -> None:
    (access,) = read(
        log,
        "[2026-11-26 10:11:12,345] INFO [Broker id=1] Started (kafka.server.KafkaServer)",
        "",
        record("READ", "Topic:LITERAL:two\nlines", "Fetch"),
    )

    assert access.question.name == "two\nlines"


def test_audit_log_events(log: Path) -> None:
    """Decisions on names; changes, logins and decisions on any resource are none."""
    accesses = read(
        log,
        event(),
        event(kind="login"),
        event(operation="READ", api="Fetch", outcome="DENIED", count=2),
        event(reference_count=0),
        event(api="Metadata", operation="DESCRIBE", log_if_denied=False),
    )

    assert [(each.api, each.allowed, each.reported, each.uses) for each in accesses] == [
        ("Produce", True, True, 3),
        ("Fetch", False, True, 2),
        ("Metadata", True, False, 3),
    ]
    needed = least_acls(each for each in accesses if each.allowed)
    assert [each.binding for each in needed] == [allow("svc", WRITE, topic("orders"))]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "not a log record; expected: '[time] LEVEL message (kafka.authorizer.logger)'"),
        ('{"message": "hello"}', "not an event of the audit log"),
        (event(operation="FLY"), "not a decision of the audit log"),
        (
            record("READ", "Topic:LITERAL:orders", "Fetch").replace("2026-11", "2026-13"),
            "not a valid date",
        ),
    ],
    ids=["text", "json", "decision", "time"],
)
def test_file_that_is_not_a_log_is_rejected(line: str, reason: str, log: Path) -> None:
    log.write_text(f"{line}\n", encoding="utf-8")

    with pytest.raises(UnreadableLog) as caught:
        LoggedRequests().read(log)

    text = str(caught.value)
    assert text.startswith(f"{log}:1: {reason}; found ")
    assert text.endswith(
        "expected: an audit log, or kafka-authorizer.log in Kafka's default layout"
    )


def test_truncated_record_is_skipped(log: Path) -> None:
    torn = record("READ", "Topic:LITERAL:orders", "Fetch")[:90]
    log.write_text(f"{torn}\n{record('WRITE', 'Topic:LITERAL:a', 'Produce')}\n", encoding="utf-8")
    logged = LoggedRequests()

    logged.read(log)

    assert [each.question.name for each in logged.accesses()] == ["a"]
    assert logged.unreadable == 1
    assert logged.first_unreadable.startswith(f"{log}:1: not a log record; expected: ")


def test_texts_of_unreadable_lines_do_not_add_up(log: Path) -> None:
    """A file that is no log may have any number of them."""
    lines = ("no log\n", "again\n", f"{record('WRITE', 'Topic:LITERAL:a', 'Produce')}\n")
    log.write_text("".join(lines), encoding="utf-8")
    logged = LoggedRequests()

    logged.read(log)

    assert (logged.unreadable, logged.first_unreadable[-7:]) == (2, "no log'")


def test_missing_file_is_reported(log: Path) -> None:
    with pytest.raises(UnreadableLog, match="No such file or directory"):
        LoggedRequests().read(log)
