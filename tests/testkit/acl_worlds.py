"""Small worlds of ACLs, with the names that go wrong: wildcards, prefixes, odd Unicode."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

if TYPE_CHECKING:
    from doorkeeper.acls.snapshot import Snapshot

# U+FF5E stands before U+1F600 by code point and after it by UTF-16 code unit.
NAMES = ("a", "ab", "abc", "b", "*", "**", "*a", "\uff5e", "\U0001f600", "\U0001f600a", "(", "")
PRINCIPALS = ("User:a", "User:*", "Group:*", "Group:a", "User:", "User:b:c", "User:\U0001f600")
HOSTS = ("*", "10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1")
TYPES = (ResourceType.TOPIC, ResourceType.GROUP)
# Those between which the rules make a difference; a law about all of them would learn no more.
OPERATIONS = (
    AclOperation.ALL,
    AclOperation.READ,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.CREATE,
    AclOperation.TWO_PHASE_COMMIT,
)
PERMISSIONS = (AclPermissionType.DENY, AclPermissionType.ALLOW)

names = st.sampled_from(NAMES)
principals = st.sampled_from(PRINCIPALS)

_BINDINGS = tuple(
    AclBinding(
        ResourcePattern(resource_type, name, pattern_type),
        AccessControlEntry(principal, host, operation, permission_type),
    )
    for resource_type, name, pattern_type, principal, host, operation, permission_type in product(
        TYPES,
        NAMES,
        (PatternType.LITERAL, PatternType.PREFIXED),
        PRINCIPALS,
        HOSTS,
        OPERATIONS,
        PERMISSIONS,
    )
)
# One draw for a whole binding: drawing the seven fields one by one takes ten times as long.
bindings = st.sampled_from(_BINDINGS)
# Many entries on few patterns, so that the order among them matters.
DENSE_NAMES = ("a", "*")
DENSE_PRINCIPALS = ("User:a", "User:*", "Group:a")
_DENSE = tuple(
    each
    for each in _BINDINGS
    if each.pattern.resource_type is ResourceType.TOPIC
    and each.pattern.name in DENSE_NAMES
    and each.entry.principal in DENSE_PRINCIPALS
    and each.entry.host in HOSTS[:2]
    and each.entry.operation in OPERATIONS[:3]
)
worlds = st.one_of(
    st.lists(bindings, max_size=14), st.lists(st.sampled_from(_DENSE), min_size=3, max_size=14)
)
NETWORKS = (
    *("10.0.0.0/8", "10.0.0.1/32", "10.0.0.1/30", "010.0.0.2/31", "0.0.0.0/0", "0.0.0.0/00"),
    *("::/0", "::1/128", "0:0::/16", "10.0.0.0/33", "10.0.0.0/", "::ffff:10.0.0.0/104"),
)
"""Hosts with a slash: networks around the addresses above and others, and what is none."""
_NETWORKED = tuple(
    AclBinding(each.pattern, each.entry._replace(host=network))
    for each in _DENSE
    if each.entry.host == HOSTS[0]
    for network in NETWORKS
)
networked_worlds = st.lists(
    st.one_of(st.sampled_from(_NETWORKED), st.sampled_from(_DENSE), bindings), max_size=14
)
questions = st.one_of(
    st.sampled_from(
        tuple(
            Question(*fields)
            for fields in product(PRINCIPALS, HOSTS[1:], OPERATIONS, TYPES, (*NAMES, "abcd", "zz"))
        )
    ),
    st.sampled_from(
        tuple(
            Question(*fields)
            for fields in product(
                DENSE_PRINCIPALS, HOSTS[1:], OPERATIONS[:3], TYPES[:1], ("a", "ab")
            )
        )
    ),
)
policies = st.builds(
    Policy,
    super_users=st.sampled_from((frozenset(), frozenset({"User:a"}), frozenset({"User:*"}))),
    allow_everyone=st.booleans(),
)
filters = st.builds(
    AclBindingFilter,
    st.builds(
        ResourcePatternFilter,
        st.sampled_from((ResourceType.UNKNOWN, ResourceType.ANY, *TYPES)),
        st.one_of(st.none(), names, st.just("abcd")),
        st.sampled_from(PatternType),
    ),
    st.builds(
        AccessControlEntryFilter,
        st.one_of(st.none(), principals),
        st.one_of(st.none(), st.sampled_from(HOSTS)),
        st.one_of(st.just(AclOperation.ANY), st.sampled_from(AclOperation)),
        st.one_of(st.just(AclPermissionType.ANY), st.sampled_from(AclPermissionType)),
    ),
)


def numbered(world: list[AclBinding]) -> list[tuple[str, AclBinding]]:
    """Give each binding an id of 22 characters, by its place."""
    return [(f"{place:022}", binding) for place, binding in enumerate(world)]


def loaded(*world: AclBinding) -> Snapshot:
    """Return a world as the engine holds it."""
    return load(numbered(list(world)))
