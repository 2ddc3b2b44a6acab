"""Who may read topics but join no group: every question is asked, on small worlds."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given, settings
from hypothesis import strategies as st

from doorkeeper.acls.consumer_access import ReaderWithoutGroup, readers_without_group
from doorkeeper.acls.decision import Policy, Question, allows
from doorkeeper.acls.model import AclBinding, AclOperation, AclPermissionType, ResourceType
from doorkeeper.acls.operations import satisfied_by
from doorkeeper.acls.regions import is_within, names_of, single
from testkit.acl import DESCRIBE, LITERAL, PREFIXED, READ, allow, deny, group, topic
from testkit.acl_worlds import loaded

BOUND = ("a", "ab", "*", "*a", "")
# Behind each name one that no binding has, so that every set of names has such a member.
NAMES = (*BOUND, *(f"{name}~" for name in BOUND))
HOSTS = ("10.0.0.1", "10.0.0.2", "10.9.9.9")
# Who asks, by the principal of the bindings.
ASKING = {"User:a": "User:a", "User:*": "User:~", "Group:a": "Group:a"}
_BINDINGS = tuple(
    make(principal, operation, pattern(name, pattern_type), host)
    for make, principal, operation, pattern, name, pattern_type, host in product(
        (allow, deny),
        ASKING,
        (AclOperation.ALL, READ, DESCRIBE),
        (topic, group),
        BOUND,
        (LITERAL, PREFIXED),
        ("*", "10.0.0.1", "10.0.0.2", "::1"),
    )
    if name or pattern_type is PREFIXED
)
_TOPICS = tuple(
    each
    for each in _BINDINGS
    if each.pattern.resource_type is ResourceType.TOPIC
    and each.entry.permission_type is AclPermissionType.ALLOW
)
# Without an ALLOW on a topic there is nothing to find.
worlds = st.builds(
    lambda reading, others: list(dict.fromkeys((reading, *others))),
    st.sampled_from(_TOPICS),
    st.lists(st.sampled_from(_BINDINGS), max_size=6),
)
policies = st.builds(
    Policy,
    super_users=st.frozensets(st.sampled_from(("User:super", "User:a")), max_size=1),
    allow_everyone=st.booleans(),
)


def by_brute_force(
    policy: Policy, world: list[AclBinding], principal: str
) -> ReaderWithoutGroup | None:
    snapshot, asks = loaded(*world), ASKING[principal]
    if asks in policy.super_users:
        return None

    def may(host: str, resource_type: ResourceType, name: str) -> bool:
        return allows(policy, snapshot, Question(asks, host, READ, resource_type, name))

    reading = {
        (host, binding)
        for binding, host, name in product(world, HOSTS, NAMES)
        if binding.pattern.resource_type is ResourceType.TOPIC
        and binding.entry.permission_type is AclPermissionType.ALLOW
        and binding.entry.principal == principal
        and binding.entry.host in ("*", host)
        and satisfied_by(READ, binding.entry.operation)
        and is_within(single(name), names_of(binding.pattern))
        and may(host, ResourceType.TOPIC, name)
    }
    joining = {host for host, name in product(HOSTS, NAMES) if may(host, ResourceType.GROUP, name)}
    if not reading or joining.intersection(host for host, _ in reading):
        return None
    return ReaderWithoutGroup(principal, min(binding for _, binding in reading), bool(joining))


def check(policy: Policy, world: list[AclBinding]) -> None:
    expected = (by_brute_force(policy, world, principal) for principal in ASKING)

    found = list(readers_without_group(policy, loaded(*world), sorted(world)))

    assert sorted(found) == sorted(each for each in expected if each is not None)


STRANDED = allow("User:a", READ, topic("a"))


@settings(max_examples=60)
@example(
    Policy(),
    [
        allow("User:a", AclOperation.ALL, topic("", PREFIXED)),
        # It covers no name that begins with "*" and goes on.
        deny("User:a", AclOperation.ALL, topic("*")),
    ],
)
@example(Policy(), [STRANDED, allow("User:a", READ, group("a")), deny("User:a", READ, group("a"))])
@example(Policy(), [STRANDED, allow("User:a", READ, group("*"), "::1")])
@example(Policy(), [STRANDED, allow("User:a", READ, group("a"), "10.0.0.1")])
@example(Policy(allow_everyone=True), [STRANDED, allow("Group:a", READ, group("", PREFIXED))])
@given(policies, worlds)
def test_quick(policy: Policy, world: list[AclBinding]) -> None:
    """They are those who, by the engine, read a topic by an ALLOW of theirs, and no group there."""
    check(policy, world)
