"""Which rule decides about a grant, and that a removal passes all of them."""

import datetime as dt
from typing import Any

import pytest

from doorkeeper.acls.model import AclBinding, AclOperation, ResourcePattern, ResourceType
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS
from doorkeeper_pipeline.evaluation.unread import UnreadLines
from doorkeeper_pipeline.evaluation.unused import COVERED, NEVER_MATCHED, NEVER_USED
from doorkeeper_pipeline.evaluation.verdicts import (
    Activity,
    Grant,
    Known,
    doubt_about,
    judge,
    seen_too_few,
)
from testkit.acl import LITERAL, PREFIXED, READ, WRITE, allow, cluster, deny, group, topic

BEGIN = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
END = BEGIN + dt.timedelta(days=100)
ACTIVE = {
    "User:alice": Activity(5, 1),
    "User:billing": Activity(9, 1),
    "User:shut": Activity(0, 7),
    "User:stuck": Activity(6, 2),
    "User:mail-sender": Activity(1, 0),
}


def after(days: float) -> dt.datetime:
    return BEGIN + dt.timedelta(days=days)


KNOWN = Known(BEGIN, END, DEFAULT_THRESHOLDS, ACTIVE)
UNUSED = Grant(allow("alice", READ, topic("t")), BEGIN, False, 0, None, NEVER_MATCHED, True)
USED = UNUSED._replace(uses=3, last=END, unused="", removable=False)
COVERED_ONE = UNUSED._replace(uses=3, last=END, unused=COVERED, covered=1)
GOES = ("unneeded", "REMOVE")
DORMANT = ("dormant", "REMOVE")
HELD = "NOT_ENOUGH_EVIDENCE"
OF_ALICE = allow("alice", READ, topic("t"))
READERS = OF_ALICE._replace(entry=OF_ALICE.entry._replace(principal="Group:readers"))
CLUSTER = cluster("kafka-cluster")
UNSEEN = {"controllers_seen": False}
CREATED_FIRST: Any = {(AclOperation.CREATE, ResourceType.TOPIC): {"User:alice"}}
TRANSACTION = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "x", LITERAL)


def of(name: str) -> Grant:
    return UNUSED._replace(binding=allow(name, READ, topic("t")))


def at(host: str) -> Grant:
    return UNUSED._replace(binding=allow("alice", READ, topic("t"), host))


@pytest.mark.parametrize(
    ("grant", "changed", "rule", "verdict"),
    [
        (UNUSED, {}, "unneeded", "REMOVE"),
        (at("2001:db8::1"), {}, "host", "ASK"),
        (at("10.0.0.0/8"), {"networks": False}, "host", "ASK"),
        (at("10.0.0.0/8"), {}, "unneeded", "REMOVE"),
        (at("2001:db8::1")._replace(uses=1, unused=COVERED), {}, "unneeded", "REMOVE"),
        (
            UNUSED._replace(binding=deny("alice", READ, topic("t"), "2001:db8::1")),
            {},
            *("host", "ASK"),
        ),
        (COVERED_ONE, {}, "unneeded", "REMOVE"),
        (of("nobody"), {}, "dormant", "REMOVE"),
        (USED, {}, "used", "KEEP"),
        (COVERED_ONE._replace(removable=False), {}, "used", "KEEP"),
        (UNUSED._replace(removable=False), {}, "used", "KEEP"),
        (UNUSED._replace(binding=deny("alice", READ, topic("t"))), {}, "deny", "KEEP"),
        (COVERED_ONE._replace(names="job-<uuid>"), {}, "names", "KEEP"),
        (USED._replace(names="job-<uuid>"), {}, "used", "KEEP"),
        (
            UNUSED,
            {"lost_lines": "many", "lacking": ("many",)},
            "collector",
            "NOT_ENOUGH_EVIDENCE",
        ),
        (UNUSED, {"lacking": ("too short",)}, "history", "NOT_ENOUGH_EVIDENCE"),
        (UNUSED, {"contradicted": {"User:alice"}}, "doubt", "NOT_ENOUGH_EVIDENCE"),
        (UNUSED, {"contradicted": {"User:billing"}}, "unneeded", "REMOVE"),
        (of("*"), {"contradicted": {"User:billing"}}, "doubt", "NOT_ENOUGH_EVIDENCE"),
        (
            UNUSED,
            {"unread": UnreadLines(frozenset({"User:alice"}))},
            "unread",
            "NOT_ENOUGH_EVIDENCE",
        ),
        (UNUSED, {"unread": UnreadLines(frozenset({"User:billing"}), 1)}, "unneeded", "REMOVE"),
        (of("*"), {"unread": UnreadLines(nameless=1)}, "unread", "NOT_ENOUGH_EVIDENCE"),
        (UNUSED, {"listing": "of whom?"}, "listing", "NOT_ENOUGH_EVIDENCE"),
        (UNUSED, {"brokers_missing": "two"}, "brokers", "NOT_ENOUGH_EVIDENCE"),
        *(
            (UNUSED._replace(binding=allow("alice", operation, on)), UNSEEN, *decided)
            for operation, on, *decided in (
                (AclOperation.CLUSTER_ACTION, CLUSTER, "brokers", "NOT_ENOUGH_EVIDENCE"),
                (AclOperation.ALTER, CLUSTER, "brokers", "NOT_ENOUGH_EVIDENCE"),
                (AclOperation.ALL, topic("t"), "brokers", "NOT_ENOUGH_EVIDENCE"),
                (AclOperation.CREATE, topic("t"), "brokers", "NOT_ENOUGH_EVIDENCE"),
                (AclOperation.DELETE, topic("t"), "brokers", "NOT_ENOUGH_EVIDENCE"),
                (AclOperation.DELETE, group("g"), "unneeded", "REMOVE"),
                (READ, topic("t"), "unneeded", "REMOVE"),
            )
        ),
        *(
            (
                UNUSED._replace(binding=allow("alice", operation, on)),
                {"logged": frozenset(logged)},
                *decided,
            )
            for operation, on, logged, *decided in (
                (READ, topic("t"), (WRITE,), "requests", "NOT_ENOUGH_EVIDENCE"),
                (READ, topic("t"), (READ,), "unneeded", "REMOVE"),
                (
                    AclOperation.IDEMPOTENT_WRITE,
                    CLUSTER,
                    (READ,),
                    "requests",
                    "NOT_ENOUGH_EVIDENCE",
                ),
                (AclOperation.ALL, topic("t"), (READ, WRITE), "requests", "NOT_ENOUGH_EVIDENCE"),
                (AclOperation.DELETE, topic("t"), (), "unneeded", "REMOVE"),
                (AclOperation.DELETE, group("g"), (), "requests", "NOT_ENOUGH_EVIDENCE"),
            )
        ),
        # 35 days of the history are needed, since the grant was given.
        (UNUSED._replace(known_from=after(65), given=True), {}, "unneeded", "REMOVE"),
        (UNUSED._replace(known_from=after(65.1), given=True), {}, "age", "NOT_ENOUGH_EVIDENCE"),
        (UNUSED._replace(known_from=after(101), given=True), {}, "age", "NOT_ENOUGH_EVIDENCE"),
        (UNUSED._replace(known_from=after(65.1)), {}, "unknown-age", "ASK"),
        (UNUSED._replace(known_from=None), {}, "unknown-age", "ASK"),
        (
            UNUSED._replace(known_from=after(60), given=True),
            {"uncovered": lambda day: str(day) if day >= after(60).date() else ""},
            *("coverage", "NOT_ENOUGH_EVIDENCE"),
        ),
        (UNUSED, {"uncovered": lambda day: str(day) if day > BEGIN.date() else ""}, *GOES),
        # Names were forgotten, with the uses of grants that are older.
        (UNUSED._replace(known_from=after(70)), {"forgotten": after(70)}, "age", HELD),
        (UNUSED._replace(known_from=after(60)), {"forgotten": after(60)}, *GOES),
        *(
            (
                UNUSED._replace(binding=allow("alice", does, topic("t"))),
                {"controllers_span": (after(begin), END)},
                *decided,
            )
            for does, begin, *decided in (
                (AclOperation.DELETE, 98, "brokers", HELD),
                (AclOperation.DELETE, 9, *GOES),
                (READ, 98, *GOES),
            )
        ),
        # Asked per start or creation, or seemingly covered: a quarter.
        (COVERED_ONE._replace(known_from=after(9)), {}, "period", "NOT_ENOUGH_EVIDENCE"),
        *(
            (
                UNUSED._replace(binding=allow("alice", does, what), known_from=after(days)),
                {},
                *decided,
            )
            for does, what in (
                (AclOperation.IDEMPOTENT_WRITE, cluster("kafka-cluster")),
                (WRITE, TRANSACTION),
                (AclOperation.CREATE, topic("t")),
                (AclOperation.DESCRIBE_CONFIGS, topic("t")),
                (AclOperation.DESCRIBE, group("g")),
                (AclOperation.ALL, topic("t")),
            )
            for days, *decided in ((8, "unneeded", "REMOVE"), (9, "period", "NOT_ENOUGH_EVIDENCE"))
        ),
        # A principal that makes no request may begin later, or once a quarter.
        (of("nobody")._replace(known_from=after(9)), {}, "period", "NOT_ENOUGH_EVIDENCE"),
        # So may one that uses a grant to all.
        (of("*")._replace(known_from=after(9)), {}, "period", "NOT_ENOUGH_EVIDENCE"),
        (of("*")._replace(known_from=after(8)), {}, "unneeded", "REMOVE"),
        (UNUSED._replace(known_from=after(9)), {}, "unneeded", "REMOVE"),
        (UNUSED._replace(unused=NEVER_USED), {}, "deny-first", "ASK"),
        (UNUSED, {"is_shut": lambda _: True}, "deny-first", "ASK"),
        *(
            (
                UNUSED._replace(binding=allow(who, operation, topic("t", PREFIXED))),
                dict(more, cluster_first=CREATED_FIRST),
                *decided,
            )
            for who, operation, more, *decided in (
                ("alice", AclOperation.CREATE, {}, "cluster-first", "ASK"),
                ("alice", AclOperation.ALL, {}, "cluster-first", "ASK"),
                ("*", AclOperation.CREATE, {}, "cluster-first", "ASK"),
                ("alice", READ, {}, "unneeded", "REMOVE"),
                ("billing", AclOperation.CREATE, {}, "unneeded", "REMOVE"),
                # It would be allowed without either.
                *[("alice", AclOperation.CREATE, {"super_users": {"User:alice"}}, *GOES)],
            )
        ),
        (of("shut"), {}, "refused", "ASK"),
        (of("stuck"), {}, "refused", "ASK"),
        (of("CN=billing,OU=pay,O=acme"), {}, "renamed", "ASK"),
        (of("Billing"), {}, "renamed", "ASK"),
        (of("MailSender"), {}, "renamed", "ASK"),
        (of("CN=mail_sender,OU=pay"), {}, "renamed", "ASK"),
        (of("mail.send"), {}, "dormant", "REMOVE"),
        (
            UNUSED._replace(binding=READERS),
            {"activity": {"User:alice": Activity(5, 0)}},
            *("renamed", "ASK"),
        ),
        (UNUSED._replace(binding=READERS), {"activity": {"Group:a": Activity(5, 0)}}, *DORMANT),
    ],
)
def test_first_matching_rule_decides(
    grant: Grant, changed: dict[str, Any], rule: str, verdict: str
) -> None:
    found = judge(grant, KNOWN._replace(**changed))
    assert (found.rule, found.verdict.value) == (rule, verdict), found
    assert found.why


def test_removal_that_depends_on_super_users_is_noted() -> None:
    known = KNOWN._replace(super_users=frozenset({"User:alice"}))
    assert "only while the principal is in super.users" in judge(UNUSED, known).why
    assert "User:nobody made no requests" in judge(of("nobody"), KNOWN).why


def test_used_grant_is_narrowed_only_with_evidence() -> None:
    assert not doubt_about(USED, KNOWN)
    assert doubt_about(USED._replace(known_from=after(90), given=True), KNOWN)
    assert doubt_about(USED, KNOWN._replace(unread=UnreadLines(frozenset({"User:alice"}))))
    assert doubt_about(USED, KNOWN._replace(logged=frozenset()))
    assert doubt_about(USED._replace(names="job-<uuid>"), KNOWN) == "job-<uuid>: keep the pattern"


@pytest.mark.parametrize(
    "binding",
    [
        allow("alice", AclOperation.CREATE, topic("t", PREFIXED)),
        allow("alice", AclOperation.ALL, topic("t")),
        allow("*", READ, topic("t")),
    ],
)
def test_narrowing_requires_start_days(binding: AclBinding) -> None:
    """What is asked for at a start, or once a quarter, may be in the part that would go."""
    used = USED._replace(binding=binding)
    assert not doubt_about(used._replace(known_from=after(8)), KNOWN)
    assert "92" in doubt_about(used._replace(known_from=after(9)), KNOWN)
    reader = USED._replace(binding=allow("alice", READ, topic("t", PREFIXED)))
    assert not doubt_about(reader._replace(known_from=after(9)), KNOWN)


def test_covered_grant_is_narrowed_only_if_it_may_go() -> None:
    """The commands of a narrower grant remove it: its verdict must not say the contrary."""
    prefix = allow("alice", READ, topic("t", PREFIXED))
    covered = COVERED_ONE._replace(binding=prefix, known_from=after(50))
    assert judge(covered, KNOWN).rule == "period"
    assert "92" in doubt_about(covered, KNOWN)
    assert not doubt_about(covered._replace(removable=False), KNOWN)
    assert not doubt_about(covered._replace(known_from=BEGIN), KNOWN)


def test_reasons_say_what_is_so() -> None:
    """Days are whole ones; a use, an age or an effect that is not there is not claimed."""
    closing = COVERED_ONE._replace(removable=False, closes=True)
    nothing: dict[str, Any] = {}
    forgetting: dict[str, Any] = {"forgotten": after(70)}
    for grant, changed, text in (
        (
            UNUSED._replace(known_from=after(65.2), given=True),
            nothing,
            "covers 34 days since, and 35",
        ),
        (UNUSED._replace(known_from=after(62.5)), nothing, "unused for 37 days"),
        (
            COVERED_ONE._replace(known_from=after(70)),
            nothing,
            "used 3 times, though another ACL allows",
        ),
        (closing, nothing, "; without it, a resource would be open to everyone"),
        (
            USED._replace(uses=0, last=None),
            nothing,
            "without it, a resource would be open to everyone",
        ),
        (UNUSED._replace(known_from=after(70), given=True), forgetting, "forgotten"),
    ):
        assert text in judge(grant, KNOWN._replace(**changed)).why


def test_refused_principals_and_shut_grants_are_not_narrowed() -> None:
    assert "denied" in doubt_about(USED._replace(binding=of("stuck").binding), KNOWN)
    assert "DENY" in doubt_about(USED, KNOWN._replace(is_shut=lambda _: True))


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("财务", "CN=财务,OU=x"),
        ("Бухгалтерия", "CN=бухгалтерия,OU=x"),
        ("STRASSE-1", "straße_1"),
        ("buchha\u0308lter", "Buchh\u00e4lter"),
        ("\uff4d\uff41\uff49\uff4c", "mail"),
        ("CN=M\u00fcller", "CN=M?ller"),
        ("M\u00fcller", "M\ufffdller"),
    ],
)
def test_renamed_principals_are_found_in_every_script(name: str, other: str) -> None:
    found = judge(of(name), KNOWN._replace(activity={f"User:{other}": Activity(5, 0)}))
    assert (found.rule, found.verdict.value) == ("renamed", "ASK"), found


def test_reason_to_keep_a_pattern() -> None:
    found = judge(USED._replace(names="its names are generated"), KNOWN)
    assert found.why.endswith("; its names are generated: keep the pattern")


def test_listing_of_another_cluster_is_detected() -> None:
    seen = {f"User:{number}": Activity(1, 0) for number in range(5)}
    named = frozenset({f"User:{number}" for number in range(10)} | {"User:*"})
    assert not seen_too_few(named, seen)
    assert "6 of the 11 principals" in seen_too_few(named | {"User:x"}, seen)
    assert not seen_too_few(frozenset({"User:x", "User:y"}), seen)
