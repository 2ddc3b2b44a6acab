"""What may be sent to a cluster that serves clients, in which order, and what is held back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.live_changes import (
    NOTHING,
    LiveCluster,
    RemovalLimits,
    Rule,
    judge,
    unenforced,
)
from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.networks import address_of, network_of
from testkit import reference

TOPIC, CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER
READ, ALTER, DESCRIBE, ALL = (
    AclOperation.READ,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.ALL,
)
OPEN_BY_DEFAULT = LiveCluster(open_by_default=True)
TEXT_HOSTS = LiveCluster(matches_networks=False)


def acl(
    permission: str,
    principal: str,
    name: str = "pay",
    operation: AclOperation = READ,
    host: str = "*",
    kind: ResourceType = TOPIC,
    pattern: PatternType = PatternType.LITERAL,
) -> AclBinding:
    return AclBinding(
        ResourcePattern(kind, name, pattern),
        AccessControlEntry(f"User:{principal}", host, operation, AclPermissionType[permission]),
    )


def on_cluster(permission: str, principal: str, operation: AclOperation = ALTER) -> AclBinding:
    return acl(permission, principal, "kafka-cluster", operation, kind=CLUSTER)


ALL_MAY, MALLORY_NOT = acl("ALLOW", "*"), acl("DENY", "mallory")
A_MAY, B_NOT = acl("ALLOW", "a"), acl("DENY", "b")
IN_NETWORK = acl("DENY", "mallory", host="127.0.0.0/8")
OPS = on_cluster("ALLOW", "ops")


def test_stages_are_ordered_without_widening_access() -> None:
    change = judge({A_MAY, B_NOT}, [ALL_MAY, MALLORY_NOT], [A_MAY, B_NOT], LiveCluster())
    assert [(stage.adds, *stage.bindings) for stage in change.stages] == [
        (True, MALLORY_NOT),
        (True, ALL_MAY),
        (False, A_MAY),
        (False, B_NOT),
    ]
    assert not judge({A_MAY}, [A_MAY], [B_NOT], LiveCluster())


MANY = [acl("ALLOW", "a", f"t{number}") for number in range(60)]


@pytest.mark.parametrize(
    ("present", "added", "removed", "cluster", "limits", "rule", "held"),
    [
        (MANY, [A_MAY], MANY[:31], LiveCluster(), RemovalLimits(30, 1.0), Rule.SIZE, 31),
        (MANY, [A_MAY], MANY[:31], LiveCluster(), RemovalLimits(100, 0.5), Rule.SIZE, 31),
        ([], [IN_NETWORK, B_NOT], [], TEXT_HOSTS, None, Rule.NETWORKS, 1),
        ([A_MAY], [], [A_MAY], OPEN_BY_DEFAULT, None, Rule.OPEN, 1),
        ([OPS], [], [OPS], LiveCluster(logins=("User:ops",)), None, Rule.LOCK_OUT, 1),
    ],
)
def test_each_rule_holds_changes_until_overridden(
    present: list[AclBinding],
    added: list[AclBinding],
    removed: list[AclBinding],
    cluster: LiveCluster,
    limits: RemovalLimits | None,
    rule: Rule,
    held: int,
) -> None:
    change = judge(set(present), added, removed, cluster, limits=limits)
    assert [(each.rule, len(each.bindings)) for each in change.held] == [(rule, held)]
    sent = sum(len(stage.bindings) for stage in change.stages)
    assert sent == len(added) + len(removed) - held
    assert change.held[0].text("accept {}").endswith(f": accept {rule.value})")
    free = judge(set(present), added, removed, cluster, limits=limits, accepted={rule})
    assert not free.held
    assert sum(len(stage.bindings) for stage in free.stages) == len(added) + len(removed)


@pytest.mark.parametrize(
    ("added", "removed", "sent"),
    [
        ([ALL_MAY], [], 0),
        ([], [MALLORY_NOT], 0),
        # The network itself limits nothing before and nothing after.
        ([], [IN_NETWORK], 1),
        ([ALL_MAY], [IN_NETWORK], 2),
    ],
)
def test_changes_limited_only_by_a_network_deny_are_held(
    added: list[AclBinding], removed: list[AclBinding], sent: int
) -> None:
    present = {IN_NETWORK, MALLORY_NOT}
    change = judge(present, added, removed, TEXT_HOSTS)
    assert sum(len(stage.bindings) for stage in change.stages) == sent
    assert {each.rule for each in change.held} == (set() if sent else {Rule.NETWORKS})
    assert not judge(present, added, removed, TEXT_HOSTS, accepted={Rule.NETWORKS}).held


def test_few_removals_are_always_allowed() -> None:
    assert not judge(set(MANY[:10]), [], MANY[:10], LiveCluster(), limits=RemovalLimits()).held
    assert judge(set(MANY[:11]), [], MANY[:11], LiveCluster(), limits=RemovalLimits()).held


@pytest.mark.parametrize(
    ("left", "removed", "is_held"),
    [
        ([], A_MAY, True),
        ([B_NOT], A_MAY, False),
        ([acl("ALLOW", "x", "pa", pattern=PatternType.PREFIXED)], A_MAY, False),
        ([acl("ALLOW", "x", "*")], A_MAY, False),
        ([acl("ALLOW", "x", "pay", kind=ResourceType.GROUP)], A_MAY, True),
        ([A_MAY], acl("ALLOW", "x", "pa", pattern=PatternType.PREFIXED), True),
    ],
)
def test_removal_that_opens_a_resource_is_held(
    left: list[AclBinding], removed: AclBinding, *, is_held: bool
) -> None:
    change = judge({*left, removed}, [], [removed], OPEN_BY_DEFAULT)
    assert bool(change.held) is is_held
    unknown = judge({*left, removed}, [], [removed], LiveCluster(open_by_default=None))
    assert not unknown.held
    assert bool(unknown.warnings) is is_held


PREFIXED = acl("ALLOW", "x", "pa", pattern=PatternType.PREFIXED)


@pytest.mark.parametrize("cluster", [OPEN_BY_DEFAULT, LiveCluster(open_by_default=None)])
@pytest.mark.parametrize(
    ("failed", "is_held"), [(A_MAY, True), (acl("ALLOW", "a", "other"), False), (None, False)]
)
def test_intermediate_stages_do_not_open_a_resource(
    cluster: LiveCluster, failed: AclBinding | None, *, is_held: bool
) -> None:
    refused = set() if failed is None else {failed}
    change = judge(
        {PREFIXED}, {A_MAY} | refused, [PREFIXED], cluster, accepted={Rule.OPEN}, failed=refused
    )
    assert [each.rule for each in change.held] == ([Rule.ORDER] if is_held else [])


@pytest.mark.parametrize(
    ("present", "added", "removed", "is_held"),
    [
        ([OPS], [], [OPS], True),
        ([OPS, on_cluster("ALLOW", "*", ALL)], [], [OPS], False),
        ([OPS], [on_cluster("ALLOW", "ops", ALL)], [OPS], False),
        ([OPS], [on_cluster("ALLOW", "ops", DESCRIBE)], [OPS], True),
        ([OPS], [on_cluster("DENY", "*", DESCRIBE)], [], True),
        ([OPS], [on_cluster("DENY", "other", ALL)], [], False),
        # Nobody's right of this login: it is a super user, or there is a default.
        ([on_cluster("ALLOW", "x")], [], [on_cluster("ALLOW", "x")], False),
        ([OPS], [on_cluster("DENY", "ops", READ)], [OPS], True),
    ],
)
def test_login_keeps_its_administration_right(
    present: list[AclBinding], added: list[AclBinding], removed: list[AclBinding], *, is_held: bool
) -> None:
    cluster = LiveCluster(logins=("User:ops",))
    change = judge(set(present), added, removed, cluster)
    assert bool(change.held) is is_held
    assert {each.rule for each in change.held} <= {Rule.LOCK_OUT}


def test_first_acl_may_lock_out_the_login() -> None:
    cluster = LiveCluster(open_by_default=True, logins=("User:ops",))
    assert judge(set(), [on_cluster("ALLOW", "x")], [], cluster).held[0].rule is Rule.LOCK_OUT


@pytest.mark.parametrize(
    ("host", "permission", "other", "is_held"),
    [
        ("10.0.0.0/8", "DENY", "10.1.0.0/16", True),
        ("10.1.0.0/16", "DENY", "10.0.0.0/8", True),
        ("10.1.2.3", "DENY", "10.1.0.0/16", True),
        ("10.0.0.0/8", "DENY", "11.0.0.0/8", False),
        ("10.0.0.0/8", "ALLOW", "10.0.0.0/9", True),
        # The same network, and a wider one.
        ("10.0.0.0/8", "ALLOW", "10.9.9.9/8", False),
        ("10.0.0.0/8", "ALLOW", "0.0.0.0/0", False),
    ],
)
def test_lock_out_from_part_of_a_network(
    host: str, permission: str, other: str, is_held: bool
) -> None:
    """A DENY for a part of the network from which the login comes was sent."""
    present = {acl("ALLOW", "ops", "kafka-cluster", ALL, host, CLUSTER)}
    added = acl(permission, "ops", "kafka-cluster", ALL, other, CLUSTER)
    removed = present if permission == "ALLOW" else ()

    change = judge(present, [added], removed, LiveCluster(logins=("User:ops",)))
    assert [each.rule for each in change.held] == [Rule.LOCK_OUT] * is_held


def test_unknown_login_is_treated_as_any_principal() -> None:
    unknown = LiveCluster(logins=None)
    change = judge({OPS, A_MAY}, [], [OPS, A_MAY], unknown)
    assert [each.bindings for each in change.held] == [{OPS}]
    assert "unknown" in change.held[0].reason
    assert judge({OPS}, [on_cluster("DENY", "*", ALL)], [], unknown).held


def test_login_with_ambiguous_principal() -> None:
    ops = LiveCluster(logins=("User:ops",), login_doubt="a doubt")
    other = on_cluster("ALLOW", "other")
    assert not judge({OPS, other}, [], [other], ops).held
    assert "a doubt" in judge({OPS, other}, [], [OPS], ops).held[0].reason
    mapped = replace(ops, logins=("User:CN=ops",))
    assert "a doubt" in judge({OPS, other}, [], [other], mapped).held[0].reason


def test_right_is_kept_until_its_replacement_is_in_force() -> None:
    cluster = LiveCluster(logins=("User:ops",))
    new = on_cluster("ALLOW", "ops", ALL)
    assert not judge({OPS}, [new], [OPS], cluster).held
    assert judge({OPS}, [new], [OPS], cluster, failed={new}).held[0].rule is Rule.LOCK_OUT


@pytest.mark.parametrize(
    ("present", "added", "removed", "cluster", "failed", "sent"),
    [
        # A DENY that the cluster refused, or would not honour, and the ALLOW that it limits.
        ([], [ALL_MAY, MALLORY_NOT], [], LiveCluster(), {MALLORY_NOT}, []),
        ([], [ALL_MAY, IN_NETWORK], [], TEXT_HOSTS, NOTHING, []),
        ([], [acl("ALLOW", "*", "other"), IN_NETWORK], [], TEXT_HOSTS, NOTHING, ["other"]),
        ([MALLORY_NOT, IN_NETWORK], [], [MALLORY_NOT], TEXT_HOSTS, NOTHING, []),
        # An ALLOW that the cluster did not remove, and the DENY that limits it.
        ([ALL_MAY, MALLORY_NOT], [], [ALL_MAY, MALLORY_NOT], LiveCluster(), {ALL_MAY}, []),
        ([A_MAY, MALLORY_NOT], [], [A_MAY, MALLORY_NOT], LiveCluster(), {A_MAY}, ["pay"]),
    ],
)
def test_allow_waits_for_related_deny(
    present: list[AclBinding],
    added: list[AclBinding],
    removed: list[AclBinding],
    cluster: LiveCluster,
    failed: set[AclBinding],
    sent: list[str],
) -> None:
    """Of other principals or resources nothing waits."""
    change = judge(set(present), added, removed, cluster, failed=failed)
    assert [each.pattern.name for stage in change.stages for each in stage.bindings] == sent


def test_networks_on_clusters_that_compare_hosts_as_strings() -> None:
    odd = acl("DENY", "m", host="not/a-network")
    acls = [IN_NETWORK, MALLORY_NOT, odd, acl("DENY", "m", host="10.0.0.1")]
    assert unenforced(acls, TEXT_HOSTS) == {IN_NETWORK}
    assert unenforced(acls, LiveCluster(matches_networks=None)) == {IN_NETWORK}
    assert not unenforced(acls, LiveCluster())


bindings = st.builds(
    acl,
    st.sampled_from(["ALLOW", "DENY"]),
    st.sampled_from(["*", "a", "m"]),
    st.sampled_from(["p", "pa", "*"]),
    st.just(READ),
    st.sampled_from(["*", "10.0.0.1", "10.0.0.0/8"]),
    pattern=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
)
QUESTIONS = [
    Question(principal, host, READ, TOPIC, name)
    for principal in ("User:a", "User:m")
    for host in ("10.0.0.1", "10.0.0.2")
    for name in ("p", "pab", "z")
]


def allowed(acls: set[AclBinding], policy: Policy, *, networks: bool) -> set[Question]:
    """Return the questions that a broker of a release allows."""

    def seen(host: str, question: Question) -> str:
        network = network_of(host) if networks else None
        address = address_of(question.host)
        is_in = network is not None and address is not None and network.contains(address)
        return question.host if is_in else host

    return {
        question
        for question in QUESTIONS
        if reference.decide(
            policy,
            [
                each._replace(entry=each.entry._replace(host=seen(each.entry.host, question)))
                for each in acls
            ],
            question,
        ).allowed
    }


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_intermediate_state_is_wider_than_both_ends(data: st.DataObject) -> None:
    networks, is_open = data.draw(st.booleans()), data.draw(st.booleans())
    policy = Policy(allow_everyone=is_open)
    cluster = LiveCluster(matches_networks=networks, open_by_default=is_open)
    accepted = data.draw(st.sets(st.just(Rule.OPEN)))
    present = data.draw(st.sets(bindings, max_size=5))
    for _ in range(2):
        goal = data.draw(st.sets(bindings, max_size=5))
        limit = allowed(present, policy, networks=networks) | allowed(goal, policy, networks=True)
        failed: set[AclBinding] = set()
        is_going = True
        while is_going:
            change = judge(
                present, goal - present, present - goal, cluster, accepted=accepted, failed=failed
            )
            is_going = False
            for adds, stage in change.stages:
                for each in data.draw(st.permutations(stage)):
                    if data.draw(st.integers(0, 5)) == 0:
                        failed.add(each)
                        is_going = True
                    else:
                        present = present | {each} if adds else present - {each}
                    assert allowed(present, policy, networks=networks) <= limit
                if is_going:
                    break
