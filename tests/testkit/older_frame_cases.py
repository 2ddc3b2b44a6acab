"""Requests of versions that Kafka 4.0 removed: compared with a broker 3.9.1."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from doorkeeper_wire.messages import create_topics, delete_topics
from testkit.frame_steps import (
    ALL,
    CREATE,
    DELETE,
    GROUP,
    PREFIXED,
    READ,
    Scenario,
    Step,
    as_users,
    ask_configs,
    create,
    creation,
    delete,
    delete_filter,
    describe,
    make_topics,
    new_topic,
    step,
)

CODES = (-1, 1, 2, 3, 4, 7, 8, 16, 99)
"""Without 15, TWO_PHASE_COMMIT: 3.9 did not know it, and we do in every version."""


def acl_scenarios() -> Iterator[Scenario]:
    """Version 0 knows literal patterns alone, and neither sees nor touches others."""
    rows = (
        creation(),
        creation(resource_name="*", operation=READ, principal="User:*"),
        creation(resource_name="orders", resource_pattern_type=PREFIXED),
        creation(resource_type=GROUP, resource_name="orders", operation=ALL),
        creation(resource_type=4, resource_name="kafka-cluster", operation=8, principal="User:bob"),
    )
    filters: list[dict[str, Any]] = [
        {"resource_name_filter": name, "resource_type_filter": kind}
        for name, kind in product((None, "orders", "*", "ord", ""), (1, 2, 3))
    ]
    described = [describe(0, pattern_type_filter=3, **each) for each in filters]
    yield Scenario("DescribeAcls 0", (create(*rows), *as_users(*described)))
    deleted = (delete(delete_filter(pattern_type_filter=3, **each), version=0) for each in filters)
    steps = (step for one in deleted for step in (create(*rows), one, describe()))
    yield Scenario("DeleteAcls 0", (*steps, *as_users(delete(version=0))))
    literal = tuple(row for row in rows if row.resource_pattern_type != PREFIXED)
    good = create(*literal, *literal, creation(principal="alice"), version=0)
    yield Scenario("CreateAcls 0", (*as_users(good, create(version=0)), describe()))
    for name in ("resource_type", "operation", "permission_type"):
        made = [create(creation(**{name: code}), creation(), version=0) for code in (*CODES, 0)]
        yield Scenario(f"CreateAcls 0, codes of {name}", (*made, describe()))
    for name in ("resource_type_filter", "operation", "permission_type"):
        asked: list[Step] = []
        for code in (*CODES, 0):
            fields: dict[str, Any] = {"pattern_type_filter": 3, name: code}
            asked += [
                describe(0, **fields),
                delete(delete_filter(**fields, principal_filter="User:x"), version=0),
            ]
        yield Scenario(f"filters of version 0, codes of {name}", (create(*rows), *asked))


def good_and_bad_topics() -> tuple[create_topics.CreatableTopic, ...]:
    """Return topics of all kinds, of which a broker makes the first two and ``a-twice`` not."""
    config = create_topics.CreatableTopicConfig
    compact = (config(name="cleanup.policy", value="compact"),)
    return (
        new_topic("a-good"),
        new_topic("b-good", num_partitions=3, configs=compact),
        new_topic("a-none", num_partitions=0),
        new_topic("a-minus", num_partitions=-2),
        new_topic("a-many", replication_factor=3),
        new_topic("a-zero", replication_factor=0),
        new_topic("bad name"),
        new_topic(""),
        new_topic("."),
        new_topic("x" * 250),
        new_topic("a-twice"),
        new_topic("a-twice"),
        new_topic("a-conf", configs=(config(name="no.such.key", value="1"),)),
        new_topic("a-confv", configs=(config(name="retention.ms", value="soon"),)),
        new_topic("a-confnull", configs=(config(name="retention.ms", value=None),)),
        new_topic("c-refused"),
    )


def remove_topics() -> Step:
    """Return the DeleteTopics step: known, unknown, repeated and refused names."""
    names = ("a-good", "b-good", "absent", "a-good", "", "c-refused")
    return step(delete_topics, 0, topic_names=names, timeout_ms=10000)


def topic_scenarios() -> Iterator[Scenario]:
    """CreateTopics 0 and 1, DeleteTopics 0, DescribeConfigs 0."""
    grants = create(
        creation(resource_name="a-", resource_pattern_type=PREFIXED, operation=CREATE),
        creation(resource_name="a-", resource_pattern_type=PREFIXED, operation=DELETE),
        creation(resource_name="b-", resource_pattern_type=PREFIXED, operation=ALL),
    )
    for version in (0, 1):
        steps = (
            make_topics(*good_and_bad_topics(), version=version, validate=version > 0),
            make_topics(*good_and_bad_topics(), version=version),
            make_topics(version=version),
            remove_topics(),
        )
        yield Scenario(f"CreateTopics {version}", (grants, *as_users(*steps)))
    few = ("cleanup.policy", "min.insync.replicas", "retention.ms", "no.such.key")
    asked = [
        *(ask_configs(0, 2, name, few) for name in ("b-one", "absent", "bad name!", "")),
        *(ask_configs(0, 2, "b-one", keys) for keys in (None, ())),
        *(ask_configs(0, 4, name, ("no.such.key",)) for name in ("1", "7", "x", "")),
        *(ask_configs(0, kind, "b-one", few) for kind in (1, 99)),
    ]
    yield Scenario("DescribeConfigs 0", (grants, *as_users(*asked)), ("b-one",))


OLDER: tuple[Scenario, ...] = (*acl_scenarios(), *topic_scenarios())
