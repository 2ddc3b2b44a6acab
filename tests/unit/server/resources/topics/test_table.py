"""Snapshots of topics."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

from doorkeeper.base.slices import SLICE_ITEMS, run_to_end
from doorkeeper.server.resources.cluster import Topic
from doorkeeper.server.resources.topics.table import (
    EMPTY,
    Topics,
    declared_id,
    let_go,
    row_of,
    topic_of,
)
from doorkeeper.server.schema.declared import StoredTopic
from testkit.nodes import a_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

A, B = a_topic("a"), a_topic("b")
DECLARED_B = a_topic("b", 9, origin="c.yaml")._replace(topic_id=b"\1" * 16)


def test_topics_are_found_by_name_and_by_id() -> None:
    """Names come sorted."""
    topics = Topics.of([DECLARED_B], [A])

    assert topics.get("a") is A
    assert topics.by_id(A.topic_id) is A
    assert topics.names() == ("a", "b")
    assert (topics.get("c"), topics.by_id(bytes(16))) == (None, None)


def test_what_is_declared_hides_what_is_stored() -> None:
    """Changes happen below it; the stored one is back when the catalog forgets it."""
    topics = Topics.of([DECLARED_B], [A, B])

    assert topics.get("b") is DECLARED_B
    assert topics.by_id(B.topic_id) is None
    assert topics.with_declared(EMPTY).get("b") is B
    assert topics.with_changes((), [row_of(B)]).get("b") is DECLARED_B
    assert topics.with_changes((), [row_of(B)]).with_declared(EMPTY).get("b") is None
    assert topics.with_changes((), [row_of(A)]).names() == ("b",)


def test_a_change_makes_another_snapshot() -> None:
    """The old one stays as it was; a replaced topic is not found by its old id."""
    before = Topics.of([], [A])
    again = A._replace(topic_id=b"\3" * 16)

    after = before.with_changes([row_of(B)], [row_of(A)])
    replaced = before.with_changes([row_of(again)], ())

    assert (before.names(), after.names()) == (("a",), ("b",))
    assert (after.by_id(A.topic_id), after.by_id(B.topic_id)) == (None, B)
    assert (replaced.by_id(A.topic_id), replaced.by_id(again.topic_id)) == (None, again)
    assert before.by_id(A.topic_id) is A


def test_names_that_collide_are_known() -> None:
    """Through changes, when one that collided is deleted, and with declared ones."""
    topics = Topics.of([], [a_topic("a.b"), a_topic("plain")])
    declared = Topics.of([a_topic("a_b", origin="c.yaml")], [a_topic("a.b")])

    assert topics.colliding("a_b") == "a.b"
    assert topics.colliding("plain") is None
    assert topics.with_changes((), [row_of(a_topic("a.b"))]).colliding("a_b") is None
    assert topics.with_changes([row_of(a_topic("x_y"))], ()).colliding("x.y") == "x_y"
    assert declared.with_changes((), [row_of(a_topic("a.b"))]).colliding("a.b") == "a_b"


def test_a_layer_is_replaced_by_what_differs() -> None:
    """Added, altered and left out; the topics that stay are the same objects, and so is no news."""
    rng = random.Random(7)
    before = [a_topic(f"t.{number}", rng.randrange(1, 4)) for number in range(500)]
    layer = EMPTY.with_changes(before)
    after = [each._replace(partitions=9) if rng.random() < 0.2 else each for each in before[50:]]
    after += [a_topic("new_one")]

    replaced = run_to_end(layer.replace_all([topic._replace() for topic in after]))

    assert replaced == EMPTY.with_changes(after)
    same = [each.name for each in after if each in before]
    assert all(replaced.by_name[name] is layer.by_name[name] for name in same)
    assert layer == EMPTY.with_changes(before)
    assert run_to_end(layer.replace_all(before)) is layer


def test_a_large_layer_is_replaced_in_pieces() -> None:
    """A topic is taken from the iterable when its piece comes."""
    taken: list[Topic] = []

    def topics() -> Iterator[Topic]:
        for number in range(10 * SLICE_ITEMS):
            taken.append(a_topic(f"t-{number}"))
            yield taken[-1]

    counts = [len(taken) for _ in EMPTY.replace_all(topics())]

    assert counts == [SLICE_ITEMS * piece for piece in range(1, 11)]


class CountedTopic(Topic):
    """A topic that is counted until it is freed."""

    alive = 0

    def __del__(self) -> None:
        CountedTopic.alive -= 1


def test_a_layer_is_freed_in_pieces() -> None:
    """Not before its turn, and never more than a piece at once."""
    CountedTopic.alive = size = 10 * SLICE_ITEMS
    layers = [EMPTY.with_changes(CountedTopic(*a_topic(f"t-{n}")) for n in range(size))]

    counts = [CountedTopic.alive for _ in let_go(layers)]

    assert CountedTopic.alive == 0
    assert counts[:10] == [size] * 10
    assert all(0 <= before - after <= SLICE_ITEMS for before, after in pairwise(counts))


def test_a_row_of_the_store_is_a_topic() -> None:
    """Kafka's own names are internal; a partition without chosen brokers is an empty text."""
    stored = StoredTopic("__consumer_offsets", b"\2" * 16, 50, 1, {"a": "b"}, ("1,2,0", "", "0"))

    topic = topic_of(stored)

    assert topic[:5] == stored[:5]
    assert topic.assignments == ((1, 2, 0), (), (0,))
    assert row_of(topic) == stored
    assert (topic.internal, topic.origin) == (True, None)


def test_declared_ids_differ_by_cluster_and_name() -> None:
    """And are 16 bytes that stay the same."""
    assert len({declared_id(cluster, name) for cluster in "ab" for name in "xy"}) == 4
    assert declared_id("a", "x") == declared_id("a", "x")
    assert len(declared_id("a", "x")) == 16
