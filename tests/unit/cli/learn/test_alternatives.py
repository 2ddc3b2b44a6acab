"""Prefixes as alternatives, and the names of Kafka Streams and Connect."""

from __future__ import annotations

import datetime as dt

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.acls.recorded_access import RecordedAccess, least_acls
from doorkeeper.cli.learn.alternatives import Alternative, alternatives
from testkit.acl import PREFIXED, READ, WRITE, allow, group, topic

FIRST = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
CREATE = AclOperation.CREATE
UUID = "5b2fd3a4-0c0e-4a52-8a2c-6f3b51f6a3d1"


def transaction(name: str, pattern_type: PatternType = PatternType.LITERAL) -> ResourcePattern:
    """Return a pattern of transactional ids."""
    return ResourcePattern(ResourceType.TRANSACTIONAL_ID, name, pattern_type)


def accesses(
    *wanted: tuple[ResourcePattern, AclOperation], principal: str = "User:svc"
) -> list[RecordedAccess]:
    """Return an access for each."""
    return [
        RecordedAccess(
            Question(principal, "10.0.0.1", operation, pattern.resource_type, pattern.name),
            *("Api", True, True, 1, FIRST),
        )
        for pattern, operation in wanted
    ]


def suggested(recorded: list[RecordedAccess]) -> list[Alternative]:
    """Return the alternatives to the least ACLs of accesses."""
    return alternatives([each.binding for each in least_acls(recorded)], recorded)


def test_three_names_with_one_beginning() -> None:
    """They are the prefix up to a delimiter; two names stay as they are."""
    recorded = accesses(
        *((topic(f"orders.{each}"), READ) for each in "abc"),
        *((topic(f"bills.{each}"), READ) for each in "ab"),
    )

    (found,) = suggested(recorded)

    assert found.binding == allow("svc", READ, topic("orders.", PREFIXED))
    assert [each.pattern.name for each in found.instead_of] == ["orders.a", "orders.b", "orders.c"]


def test_a_name_of_another_principal_prevents_a_prefix() -> None:
    """A prefix must not cover what only others use."""
    recorded = accesses(*((topic(f"orders.{each}"), READ) for each in "abc"))
    recorded += accesses((topic("orders.z"), READ), principal="User:other")

    assert suggested(recorded) == []


def test_an_application_of_streams() -> None:
    """Its topics and transactional ids begin with its id, which is the name of its group."""
    recorded = accesses(
        (group("words"), READ),
        (topic("lines"), READ),
        (topic("words-counts-changelog"), WRITE),
        (topic("words-counts-changelog"), CREATE),
        (topic("words-counts-repartition"), READ),
        (transaction(f"words-{UUID}-1"), WRITE),
    )

    found = suggested(recorded)

    assert [(each.binding, each.reason) for each in found] == [
        (
            allow("svc", operation, topic("words-", PREFIXED)),
            "internal topic of the Streams application words",
        )
        for operation in (READ, WRITE, CREATE)
    ] + [
        (
            allow("svc", WRITE, transaction("words-", PREFIXED)),
            ("transactional id, another one in each process, of the Streams application words"),
        )
    ]
    assert [each.pattern.name for each in found[1].instead_of] == ["words-counts-changelog"]


def test_a_connect_cluster() -> None:
    """Its three topics share a beginning; a sink connector reads in a group of its own."""
    recorded = accesses(
        *((topic(f"connect-{each}"), WRITE) for each in ("configs", "offsets", "status")),
        (group("connect-files"), READ),
        (group("workers"), READ),
    )

    found = suggested(recorded)

    assert [(each.binding, each.reason) for each in found] == [
        (
            allow("svc", WRITE, topic("connect-", PREFIXED)),
            "topic of a Connect cluster (status.storage.topic)",
        ),
        (
            allow("svc", READ, group("connect-", PREFIXED)),
            "group of Connect's sink connector files",
        ),
    ]
