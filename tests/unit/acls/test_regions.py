"""How the questions of two bindings lie to each other."""

from __future__ import annotations

from itertools import product

from doorkeeper.acls.model import ResourceType
from doorkeeper.acls.regions import (
    WILD,
    Extent,
    Region,
    common_names,
    is_asked_about,
    names_of,
    overlap,
    region_of,
    single,
)
from testkit.acl import PREFIXED, READ, allow, cluster, deny, topic
from testkit.acl_worlds import NAMES

SETS: list[Extent] = [
    WILD,
    *(kind(name) for name in NAMES for kind in (single, Extent) if (kind, name) != (single, "*")),
]
PROBES = (*NAMES, *(f"{name}~" for name in NAMES))


def holds(names: Extent, name: str) -> bool:
    if names.is_wild:
        return name == "*" or not name.startswith("*")
    return names.text == name if names.is_single else name.startswith(names.text)


def test_name_set_intersection_and_containment() -> None:
    for one, other in product(SETS, SETS):
        mine, theirs = ({name for name in PROBES if holds(each, name)} for each in (one, other))
        both = common_names(one, other)
        found = set() if both is None else {name for name in PROBES if holds(both, name)}

        assert other.contains(one) == (mine <= theirs)
        assert found == mine & theirs


def test_names_matched_by_a_pattern() -> None:
    assert names_of(topic("a")) == single("a")
    assert names_of(topic("*")) == WILD
    assert names_of(topic("*", PREFIXED)) == Extent("*")
    for pattern in (cluster("kafka-cluster"), cluster("*"), cluster("kafka", PREFIXED)):
        assert names_of(pattern) == single("kafka-cluster")
        assert is_asked_about(pattern)
    for pattern in (cluster("k"), cluster("*", PREFIXED), cluster("kafka-clusters", PREFIXED)):
        assert not is_asked_about(pattern)


def test_overlap_of_two_bindings() -> None:
    one = region_of(allow("User:*", READ, topic("a", PREFIXED), "10.0.0.1"))
    other = region_of(deny("alice", READ, topic("*")))

    assert overlap(one, other) == Region(ResourceType.TOPIC, Extent("a"), "User:alice", "10.0.0.1")
    assert overlap(one, region_of(deny("alice", READ, topic("b")))) is None
    assert overlap(one, region_of(deny("alice", READ, topic("a"), "10.0.0.2"))) is None
