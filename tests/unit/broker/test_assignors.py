"""Assignors: balance, and as few moves as possible."""

from __future__ import annotations

import pytest

from doorkeeper_broker.assignors import (
    ASSIGNORS,
    NO_PARTITIONS,
    Partition,
    Subscriber,
    assign_range,
    assign_uniform,
)

T, U = b"t" * 16, b"u" * 16


def partitions(topic_id: bytes, *numbers: int) -> frozenset[Partition]:
    return frozenset(Partition(topic_id, each) for each in numbers)


def member(
    name: str,
    topics: tuple[bytes, ...] = (T,),
    target: frozenset[Partition] = NO_PARTITIONS,
    instance_id: str | None = None,
) -> Subscriber:
    return Subscriber(name, instance_id, frozenset(topics), target)


@pytest.mark.parametrize("name", ASSIGNORS)
def test_each_partition_has_one_owner(name: str) -> None:
    """It reads the topic; a partition of a topic without readers has none."""
    members = [member("a", (T, U)), member("b", (T,)), member("c", ())]

    found = ASSIGNORS[name](members, {T: 5, U: 3, b"v" * 16: 2})

    every = [each for targets in found.values() for each in targets]
    assert sorted(every) == sorted(partitions(T, *range(5)) | partitions(U, *range(3)))
    assert {each.topic_id for each in found["b"]} <= {T}
    assert found["c"] == NO_PARTITIONS


def test_uniform_moves_what_balance_needs() -> None:
    """A third member gets one partition of each of the others; they keep the rest."""
    has = {"a": partitions(T, 0, 1, 2), "b": partitions(T, 3, 4, 5)}

    found = assign_uniform([*(member(key, (T,), has[key]) for key in "ab"), member("c")], {T: 6})

    assert {key: len(each) for key, each in found.items()} == {"a": 2, "b": 2, "c": 2}
    assert found["a"] < has["a"]
    assert found["b"] < has["b"]


def test_range_gives_the_same_numbers_of_each_topic() -> None:
    """Static members come first, by their instance ids; the first ones get the larger share."""
    members = [member("z", (T, U), instance_id="i"), member("a", (T, U))]

    found = assign_range(members, {T: 3, U: 3})

    assert found == {
        "z": partitions(T, 0, 1) | partitions(U, 0, 1),
        "a": partitions(T, 2) | partitions(U, 2),
    }
