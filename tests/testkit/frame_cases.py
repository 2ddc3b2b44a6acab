"""Scenarios of single requests that are compared with a broker's answers.

Each scenario starts without ACLs and without topics. What ``random_requests`` sends is not here.
"""

from collections.abc import Iterator
from typing import Any

from doorkeeper_wire.messages import create_partitions, offset_commit
from testkit.config_frame_cases import config_scenarios
from testkit.frame_steps import (
    ALL,
    ALTER,
    Scenario,
    Step,
    as_users,
    ask_metadata,
    create,
    creation,
    make_topics,
    named,
    new_topic,
    step,
)


def increased(version: int, *rows: tuple[str, int, Any], **fields: Any) -> Step:
    """Return the CreatePartitions step: name, count, and the brokers of each new partition."""
    kind = create_partitions
    topics = tuple(
        kind.CreatePartitionsTopic(
            name=name,
            count=count,
            assignments=None
            if assignments is None
            else tuple(kind.CreatePartitionsAssignment(broker_ids=each) for each in assignments),
        )
        for name, count, assignments in rows
    )
    return step(kind, version, **{"topics": topics, "timeout_ms": 10000, **fields})


def increase_scenarios() -> Iterator[Scenario]:
    """CreatePartitions: more, fewer, as many, brokers well and badly chosen, refused, doubled."""
    grants = create(
        creation(resource_name="t-one", operation=ALTER),
        creation(resource_name="absent", operation=ALTER),
        creation(resource_name="t-two", operation=ALL, principal="User:bob"),
    )
    for version in (0, 3):
        steps = (
            increased(version, ("t-one", 4, None), validate_only=True),
            increased(version, ("t-one", 3, None), ("absent", 3, None), ("t-two", 3, None)),
            increased(version, ("t-one", 3, None), ("t-two", 1, None)),
            increased(version, ("t-one", -1, None), ("t-two", 0, ())),
            increased(version, ("t-one", 9, ((1,),)), ("t-two", 4, ((7,),))),
            increased(version, ("t-one", 9, ()), ("t-two", 4, ((),))),
            increased(version, ("t-one", 4, ((1, 1),)), ("t-two", 4, ((1,),))),
            increased(version, ("t-one", 8, None), ("t-one", 8, None), ("t-two", 5, None)),
            increased(version, ("t-one", 8, None), timeout_ms=0),
            increased(version),
            ask_metadata(9, named("t-one", "t-two")),
        )
        yield Scenario(
            f"CreatePartitions {version}", (grants, *as_users(*steps)), ("t-one", "t-two")
        )


def long_names() -> Iterator[Scenario]:
    """A reason that quotes a name of 32,767 characters fits into no response."""
    for version in (2, 7):
        step = make_topics(new_topic("x" * 32_767), new_topic("other"), version=version)
        yield Scenario(f"a long name {version}", (step, ask_metadata(9, None)))


def long_texts() -> Iterator[Scenario]:
    """Texts of committed offsets have at most 4,096 characters, each longer one is refused."""
    kind = offset_commit
    for version in (2, 9):
        steps = []
        for first, second in (("", "x" * 4096), ("", "x" * 4097), ("\U0001f600" * 2049, "a")):
            topics = tuple(
                kind.OffsetCommitRequestTopic(
                    name="t-one",
                    partitions=(
                        kind.OffsetCommitRequestPartition(
                            partition_index=index, committed_offset=1, committed_metadata=text
                        ),
                    ),
                )
                for index, text in enumerate((first, second))
            )
            request = kind.OffsetCommitRequest(group_id="g-long", topics=topics)
            steps.append(Step(None, request, kind.OffsetCommitResponse, version))
        yield Scenario(f"long texts {version}", tuple(steps), ("t-one",), groups=True)


SCENARIOS: tuple[Scenario, ...] = (
    *long_texts(),
    *increase_scenarios(),
    *long_names(),
    *config_scenarios(),
)
