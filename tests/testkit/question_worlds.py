"""Small worlds of ACLs for questions about many names, clients and principals.

The names are few and nested, so that patterns meet, and so are the networks. All clients are IPv4
addresses, but for one that stands for all others.
"""

from __future__ import annotations

from hypothesis import strategies as st

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

PRINCIPALS = ("User:a", "User:b", "User:*")
NAMES = ("a", "ab", "abc", "b", "*")
HOSTS = ("*", "*", "*", "10.0.0.1", "10.0.0.0/31", "10.0.0.0/30", "0.0.0.0/0", "128.0.0.0/1")
OPERATIONS = (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.ALL, AclOperation.WRITE)
ASKED = (AclOperation.READ, AclOperation.DESCRIBE)

# A literal twice: a name alone is rarer among many prefixes.
_PATTERNS = tuple(
    ResourcePattern(ResourceType.TOPIC, name, how)
    for how in (PatternType.LITERAL, PatternType.PREFIXED)
    for name in NAMES
)
bindings = st.builds(
    AclBinding,
    st.sampled_from(_PATTERNS),
    st.builds(
        AccessControlEntry,
        st.sampled_from(PRINCIPALS),
        st.sampled_from(HOSTS),
        st.sampled_from(OPERATIONS),
        st.sampled_from((AclPermissionType.ALLOW, AclPermissionType.ALLOW, AclPermissionType.DENY)),
    ),
)
worlds = st.lists(bindings, max_size=7, unique=True)
policies = st.builds(
    Policy,
    super_users=st.sampled_from((frozenset(), frozenset(), frozenset({"User:a"}))),
    allow_everyone=st.booleans(),
)
prefixes = st.sampled_from(("", "a", "ab", "abcd", "b", "c", "*"))
scopes = st.sampled_from(("*", "10.0.0.0/29", "10.0.0.0/31", "200.0.0.0/8", "10.0.0.1"))
"""The clients that are asked about: all, those of a network, or one."""
