"""What is odd about a set of ACLs."""

from __future__ import annotations

import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.lint import Finding, Severity, lint
from doorkeeper.acls.model import (
    CLUSTER_NAME,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, cluster, deny, group, topic
from testkit.acl_worlds import loaded
from testkit.counted import counted_calls

GROUP = allow("a", READ, group("g"))
PLAIN = Policy()
ALTER = AclOperation.ALTER
BARE = AclBinding(topic("t"), allow("a", WRITE, topic("t")).entry._replace(principal="alice"))


def found(*world: AclBinding, policy: Policy = PLAIN) -> list[Finding]:
    return lint(policy, loaded(*world))


@pytest.mark.parametrize(
    ("binding", "code", "fixed"),
    [
        (allow("a", READ, topic("*", PREFIXED)), "W002", allow("a", READ, topic("*"))),
        (allow("user:b", WRITE, topic("t")), "W003", allow("User:b", WRITE, topic("t"))),
        (allow("User:", WRITE, topic("t")), "W003", None),
        (allow(":b", WRITE, topic("t")), "W003", allow("b", WRITE, topic("t"))),
        (BARE, "W003", allow("alice", WRITE, topic("t"))),
        (allow("User:team-*", WRITE, topic("t")), "W004", None),
        (allow("Group:*", WRITE, topic("t")), "W004", None),
        (allow("b", WRITE, topic("t"), "broker.example"), "W005", None),
        (allow("b", WRITE, topic("t"), "::1"), "W005",
         allow("b", WRITE, topic("t"), "0:0:0:0:0:0:0:1")),
        (allow("b", WRITE, topic("t"), "::ffff:10.0.0.1"), "W005",
         allow("b", WRITE, topic("t"), "10.0.0.1")),
        (allow("User:*", WRITE, topic("t")), "W006", None),
        (allow("b", READ, topic("t")), "W007", None),
        (allow("b", AclOperation.IDEMPOTENT_WRITE, topic("t")), "E001", None),
        (allow("User:*", ALTER, cluster("foo")), "E007", None),
        (deny("b", ALTER, cluster("kafka-clusters", PREFIXED)), "E007", None),
    ],
)  # fmt: skip
def test_one_oddity(binding: AclBinding, code: str, fixed: AclBinding | None) -> None:
    """It is found once, with the binding first, and the fix where there is one."""
    (finding,) = found(GROUP, binding)

    assert (finding.code, finding.bindings[0]) == (code, binding)
    assert finding.fix.words
    if code.startswith("E"):
        assert (finding.severity, finding.fix.removed) == (Severity.ERROR, (binding,))
    else:
        assert finding.severity is Severity.WARNING
        fix = finding.fix
        assert (fix.added, fix.removed) == (((), ()) if fixed is None else ((fixed,), (binding,)))


@pytest.mark.parametrize(
    ("groups", "is_missing"),
    [
        ([], True),
        ([allow("a", READ, group("g"), "10.0.0.1")], False),
        ([allow("a", READ, group("g"), "10.0.0.2")], True),
        ([allow("User:*", AclOperation.ALL, group("g"))], False),
        ([allow("b", READ, group("g"))], True),
        ([allow("a", READ, group("g")), deny("a", READ, group("*"))], True),
        ([allow("a", DESCRIBE, group("g"))], True),
    ],
)
def test_consumers_need_read_on_a_group(groups: list[AclBinding], *, is_missing: bool) -> None:
    world = loaded(allow("a", READ, topic("t"), "10.0.0.1"), *groups)

    assert bool(lint(PLAIN, world, {"W007"})) is is_missing


def test_allow_and_deny_on_one_pattern_contradict() -> None:
    allowing, denying = allow("a", READ, topic("t")), deny("a", DESCRIBE, topic("t"))

    (finding,) = found(GROUP, allowing, denying)

    assert (finding.code, finding.bindings) == ("W001", (allowing, denying))


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("10.0.0.0/8", None),
        ("::/0", None),
        (
            "10.0.0.0/33",
            "this host contains a slash but is not a valid network, so it never matches",
        ),
        ("10.1.2.3/8", "the prefix length determines the network: this is all of 10.0.0.0/8"),
        (
            "broker.example",
            "hosts are compared as strings with the client's address; a host name or network",
        ),
    ],
)
def test_networks_are_checked_by_kafka_4_4_rules(host: str, reason: str | None) -> None:
    world = loaded(allow("b", WRITE, topic("t"), host)).with_network_matching(enabled=True)

    reasons = [each.reason for each in lint(PLAIN, world, {"W005"})]

    assert len(reasons) == (reason is not None)
    assert all(each.startswith(reason or "") for each in reasons)


@pytest.mark.parametrize(("matches", "host"), [(True, "10.{}.0.0/16"), (False, "10.0.0.{}")])
def test_host_lookup_cost_is_linear(*, matches: bool, host: str) -> None:
    costs = []
    for size in (25, 50):
        world = [
            make("a", READ, topic("t"), host.format(n))
            for n in range(size)
            for make in (allow, deny)
        ]
        snapshot = loaded(*world).with_network_matching(enabled=matches)
        with counted_calls() as calls:
            lint(PLAIN, snapshot, {"E005", "W001", "W007"})
        costs.append(calls.count)

    assert costs[1] < 3 * costs[0]


PRODUCER = [allow("a", each, topic("t")) for each in (WRITE, DESCRIBE, AclOperation.CREATE)]
CONSUMER = [allow("a", READ, topic("t")), allow("a", DESCRIBE, topic("t")), GROUP]
IDS = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "x", PatternType.LITERAL)
TRANSACTIONS = [allow("a", each, IDS) for each in (WRITE, DESCRIBE)]
IDEMPOTENT = allow("a", AclOperation.IDEMPOTENT_WRITE, cluster(CLUSTER_NAME))
EVERYBODY = allow("User:*", WRITE, topic("t"))


@pytest.mark.parametrize(
    "world",
    [
        PRODUCER,
        [*PRODUCER, *CONSUMER],
        [*PRODUCER, *TRANSACTIONS],
        [*(allow("User:b", each, topic("p", PREFIXED)) for each in (READ, DESCRIBE)),
         allow("User:b", READ, group("p", PREFIXED))],
    ],
)  # fmt: skip
def test_acls_of_convenience_options_are_not_reported(world: list[AclBinding]) -> None:
    """What kafka-acls.sh --producer and --consumer create is no finding, unless it is wanted."""
    described = {each for each in world if each.entry.operation is DESCRIBE}

    assert lint(PLAIN, loaded(*world), implied=False) == []
    assert [each.bindings[0] for each in lint(PLAIN, loaded(*world))] == sorted(described)


DELETE = AclOperation.DELETE
WRITING = allow("a", WRITE, topic("t"))


@pytest.mark.parametrize(
    ("world", "is_needed"),
    [
        ([WRITING], False),
        ([allow("User:*", WRITE, topic("t"))], False),
        ([allow("a", AclOperation.ALL, topic("*"))], False),
        ([allow("a", READ, topic("t")), GROUP], True),
        ([allow("b", WRITE, topic("t"))], True),
        ([allow("a", WRITE, topic("t"), "10.0.0.1")], True),
        ([WRITING, deny("a", WRITE, topic("*"), "10.0.0.1")], True),
        ([WRITING, deny("a", WRITE, topic("", PREFIXED))], True),
    ],
)
def test_idempotent_write_is_redundant_since_kafka_2_8(
    world: list[AclBinding], *, is_needed: bool
) -> None:
    found = lint(PLAIN, loaded(IDEMPOTENT, *world), {"W013"})

    assert [finding.bindings for finding in found] == ([] if is_needed else [(IDEMPOTENT,)])


def test_deny_of_all_but_some_operations_is_no_contradiction() -> None:
    every, denying = allow("a", AclOperation.ALL, topic("t")), deny("a", DELETE, topic("t"))
    host = deny("a", READ, topic("t"), "10.0.0.7")

    assert lint(PLAIN, loaded(GROUP, every, denying, host)) == []
    [finding] = lint(
        PLAIN,
        loaded(allow("a", DELETE, topic("t")), deny("a", DELETE, topic("t"), "::1")),
        {"W001"},
    )
    assert "keep both if the DENY is an intended exception" in finding.fix.words


def test_describe_is_reported_with_redundant_read() -> None:
    world = [*CONSUMER, allow("a", READ, topic("*"))]

    redundant = [each for each in world if each in CONSUMER and each != GROUP]
    assert [each.bindings[0] for each in lint(PLAIN, loaded(*world), implied=False)] == redundant


def test_accepted_findings_are_omitted() -> None:
    narrow, wide = allow("a", READ, topic("t")), allow("a", READ, topic("*"))

    def accepts(code: str, binding: AclBinding) -> bool:
        return (code, binding) in [("E004", narrow), ("W006", EVERYBODY)]

    assert lint(PLAIN, loaded(narrow, wide, GROUP), accepts=accepts) == []
    assert [each.code for each in lint(PLAIN, loaded(EVERYBODY), {"W006"})] == ["W006"]
    assert lint(PLAIN, loaded(EVERYBODY), {"W006"}, accepts=accepts) == []
