"""Every moment of a change of a cluster, decided by Kafka's StandardAuthorizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.live_changes import LiveCluster, Rule, judge
from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from testkit.oracle_authorizer import AuthorizerOracle
    from testkit.oracle_totals import Totals

TEXT_HOSTS, NETWORKS = "4.3.1", "4.4.0"
"""The releases: the newer one matches networks."""

QUESTIONS = [
    ["User", who, host, AclOperation.READ, ResourceType.TOPIC, name, 3, 15, 1, True, True]
    for who in ("a", "m")
    for host in ("10.0.0.1", "10.0.0.2")
    for name in ("p", "pab", "z")
]

acls = st.builds(
    lambda name, pattern, who, host, permission: AclBinding(
        ResourcePattern(ResourceType.TOPIC, name, pattern),
        AccessControlEntry(who, host, AclOperation.READ, permission),
    ),
    st.sampled_from(["p", "pa", "*"]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(["User:*", "User:a", "User:m"]),
    st.sampled_from(["*", "10.0.0.1", "10.0.0.0/8"]),
    st.sampled_from([AclPermissionType.ALLOW, AclPermissionType.DENY]),
)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_no_intermediate_state_is_wider_than_both_ends(
    authorizers: Callable[[str], AuthorizerOracle], totals: Totals, data: st.DataObject
) -> None:
    release = data.draw(st.sampled_from([TEXT_HOSTS, NETWORKS]))
    is_open = data.draw(st.booleans())
    configs = {"allow.everyone.if.no.acl.found": str(is_open).lower()}

    def allowed(present: Iterable[AclBinding], release: str = release) -> set[int]:
        rows = [[*pattern, *entry] for pattern, entry in sorted(present)]
        world = {"configs": configs, "acls": rows, "added": [], "removed": []}
        world |= {"questions": QUESTIONS, "by_type": [], "filters": []}
        answers = authorizers(release).answer(world)["questions"]
        totals.compared["moments of changes of a cluster"] += 1
        return {number for number, each in enumerate(answers) if each[0] == "ALLOWED"}

    present, goal = (data.draw(st.sets(acls, max_size=5)) for _ in range(2))
    limit = allowed(present) | allowed(goal, NETWORKS)
    cluster = LiveCluster(matches_networks=release == NETWORKS, open_by_default=is_open)
    accepted = data.draw(st.sets(st.just(Rule.OPEN)))
    failed: set[AclBinding] = set()
    stages = judge(present, goal, present - goal, cluster, accepted=accepted).stages
    while stages:
        (adds, stage), *rest = stages
        for each in data.draw(st.permutations(stage)):
            if data.draw(st.integers(0, 5)) == 0:
                failed.add(each)
            else:
                present = present | {each} if adds else present - {each}
                assert allowed(present) <= limit
        if failed.intersection(stage):
            change = judge(present, goal, present - goal, cluster, accepted=accepted, failed=failed)
            rest = list(change.stages)
        stages = tuple(rest)
