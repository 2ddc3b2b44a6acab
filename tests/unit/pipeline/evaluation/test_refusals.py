"""The causes of refusals, and what is offered for each."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper_pipeline.jobs.denied import REFUSALS, denied_table
from testkit.acl import READ, WRITE, allow, deny, topic

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding

BEGIN = dt.datetime(2026, 10, 1, 10, 0, 2, tzinfo=dt.UTC)
HALF_HOUR = dt.timedelta(minutes=30)
DENY, NO_ACL, ALLOWED_NOW, UNKNOWN = range(4)
GRANTS = (allow("svc", READ, topic("other")),)


def refused(**fields: Any) -> dict[str, Any]:
    """Return a refusal: READ on a topic by User:svc, which has a grant on another one."""
    return {
        "principal": "User:svc",
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource_name": "t",
        "probe": False,
        "count": 1,
        "rounds": fields.get("count", 1),
        "first_ts": BEGIN,
        "last_ts": BEGIN,
        "hosts": ["10.0.0.1"],
        "host_count": 1,
        "apis": ["Fetch"],
        "reason": NO_ACL,
        "binding": None,
        "rule_binding": "",
        **fields,
    }


def rows(
    *refusals: dict[str, Any], grants: tuple[AclBinding, ...] = GRANTS
) -> list[dict[str, Any]]:
    """Return the rows of the table ``denied``."""
    frame = pl.DataFrame(list(refusals), orient="row").sort("principal", "resource_name")
    return denied_table(frame.select(list(REFUSALS)).cast(pl.Schema(REFUSALS)), grants).to_dicts()


def causes(*refusals: dict[str, Any], **others: Any) -> set[tuple[str, bool]]:
    """Return the causes of refusals, and whether a command is offered."""
    return {(row["cause"], bool(row["command"])) for row in rows(*refusals, **others)}


def names(many: int, begin: str = "t", **fields: Any) -> list[dict[str, Any]]:
    """Return the refusals of many names."""
    return [refused(resource_name=f"{begin}-{number}", **fields) for number in range(many)]


ON_CLUSTER: dict[str, Any] = {
    "resource_type": "CLUSTER",
    "resource_name": "kafka-cluster",
    "apis": [],
}
DESCRIBE: dict[str, Any] = {"operation": "DESCRIBE", "apis": ["Metadata"]}
GROUP: dict[str, Any] = {**DESCRIBE, "resource_type": "GROUP", "apis": ["FindCoordinator"]}


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({}, "MISSING_GRANT"),
        ({"reason": UNKNOWN}, "MISSING_GRANT"),
        ({"operation": "WRITE", "apis": ["Produce", "Metadata"]}, "MISSING_GRANT"),
        ({"probe": True}, "ASKED_ONLY"),
        ({"reason": ALLOWED_NOW}, "ALLOWED_NOW"),
        ({"reason": DENY, "binding": 0}, "DENY"),
        ({"principal": "User:ANONYMOUS"}, "NO_LOGIN"),
        ({"principal": "User:ANONYMOUS", **GROUP, "apis": []}, "NO_LOGIN"),
        ({"principal": "User:ANONYMOUS", "reason": ALLOWED_NOW}, "ALLOWED_NOW"),
        ({"principal": "User:anonymous"}, "NO_GRANT"),
        ({"principal": "User:other"}, "NO_GRANT"),
        ({**ON_CLUSTER, "operation": "ALTER"}, "ADMINISTRATION"),
        ({**ON_CLUSTER, "operation": "ALTER_CONFIGS"}, "ADMINISTRATION"),
        ({**ON_CLUSTER, "operation": "CLUSTER_ACTION"}, "ADMINISTRATION"),
        ({**ON_CLUSTER, "operation": "ALTER", "principal": "User:other"}, "ADMINISTRATION"),
        ({**ON_CLUSTER, "operation": "IDEMPOTENT_WRITE"}, "MISSING_GRANT"),
        ({"operation": "ALTER"}, "MISSING_GRANT"),
        (DESCRIBE, "DESCRIBE_FIRST"),
        ({**DESCRIBE, "apis": []}, "DESCRIBE_FIRST"),
        ({**DESCRIBE, "apis": ["ListOffsets", "Metadata"]}, "MISSING_GRANT"),
        ({**DESCRIBE, "apis": ["DescribeTopicPartitions"]}, "MISSING_GRANT"),
        (GROUP, "DESCRIBE_FIRST"),
        ({**GROUP, "apis": ["DescribeGroups", "FindCoordinator"]}, "MISSING_GRANT"),
        ({**GROUP, "resource_type": "TRANSACTIONAL_ID"}, "DESCRIBE_FIRST"),
        ({**ON_CLUSTER, "operation": "DESCRIBE"}, "MISSING_GRANT"),
    ],
)
def test_each_denial_has_the_first_matching_cause(fields: dict[str, Any], cause: str) -> None:
    assert causes(refused(**fields)) == {(cause, cause == "MISSING_GRANT")}


def test_deny_has_no_suggested_grant() -> None:
    of_other = refused(principal="User:other")

    assert causes(of_other, grants=(*GRANTS, deny("other", WRITE, topic("t")))) == {
        ("NO_GRANT", False)
    }
    assert causes(of_other, grants=()) == {("MISSING_GRANT", True)}


def test_periodic_scanner_gets_no_command() -> None:
    last = BEGIN + 143 * HALF_HOUR
    of_tool = names(80, principal="User:CN=ui", count=288, last_ts=last, **DESCRIBE)
    of_tool = [{**each, "rounds": 144} for each in of_tool]  # from two addresses
    writes = refused(operation="WRITE", resource_name="orders", count=12, apis=["Produce"])

    found = rows(*of_tool, writes)

    probing = [row for row in found if row["cause"] == "PROBING"]
    [writer] = [row for row in found if row["cause"] != "PROBING"]
    assert len(probing) == 80
    assert {(row["command"], row["grant_text"], row["rhythm"]) for row in probing} == {
        ("", "", "80 names at once, about every 30 minutes, at :00 and :30")
    }
    assert (writer["cause"], writer["rhythm"]) == ("MISSING_GRANT", "")
    assert "--operation Write" in writer["command"]


@pytest.mark.parametrize(
    ("refusals", "rhythm"),
    [
        (names(20), "20 names, 20 questions within a minute"),
        (names(19), ""),
        (
            [
                refused(first_ts=BEGIN + number * HALF_HOUR, resource_name=f"{number}")
                for number in range(60)
            ],
            "60 names in 1 day",
        ),
        (
            [
                refused(operation=each, resource_type=kind)
                for each in ("READ", "WRITE", "CREATE", "DELETE", "ALTER")
                for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID", "DELEGATION_TOKEN")
            ],
            "4 names, 20 questions within a minute",
        ),
        (
            names(25, count=100, last_ts=BEGIN + 99 * dt.timedelta(hours=24)),
            "25 names at once, about every day",
        ),
        (
            names(25, count=100, last_ts=BEGIN + 99 * dt.timedelta(seconds=30)),
            "25 names at once, about every 30 seconds",
        ),
        (
            names(25, count=4, last_ts=BEGIN + 3 * dt.timedelta(hours=36)),
            "25 names at once, about every 36 hours",
        ),
        (
            names(
                25,
                first_ts=BEGIN + dt.timedelta(minutes=7),
                count=4,
                last_ts=BEGIN + dt.timedelta(minutes=52),
            ),
            "25 names at once, about every 15 minutes, at :07, :22, :37 and :52",
        ),
        (
            names(25, count=2, last_ts=BEGIN + HALF_HOUR),
            "25 names, 25 questions within a minute",
        ),
    ],
)
def test_probing_is_detected(refusals: list[dict[str, Any]], rhythm: str) -> None:
    assert {row["rhythm"] for row in rows(*refusals)} == {rhythm}


def test_explained_denials_are_not_probing() -> None:
    explained = [
        *names(30, "granted", reason=ALLOWED_NOW),
        *names(30, "denied", reason=DENY, binding=0),
        *names(30, "asked", probe=True),
    ]

    found = rows(*explained, refused())

    assert {row["cause"] for row in found} == {
        *("ALLOWED_NOW", "DENY", "ASKED_ONLY", "MISSING_GRANT"),
    }


def test_probing_is_counted_per_principal() -> None:
    clients = [
        refused(principal=f"User:{number}", resource_name=f"{number}") for number in range(60)
    ]

    assert causes(*clients) == {("NO_GRANT", False)}
