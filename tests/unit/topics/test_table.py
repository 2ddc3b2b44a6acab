"""Snapshots of topics."""

from __future__ import annotations

import random
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from doorkeeper.cluster.model import Topic
from doorkeeper.kinds.declared import StoredTopic
from doorkeeper.runtime.slices import SLICE_ITEMS, run_to_end
from doorkeeper.topics.table import (
    EMPTY,
    Topics,
    declared_id,
    let_go,
    row_of,
    topic_of,
)
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
    """The stored one is back when the catalog forgets it."""
    topics = Topics.of([DECLARED_B], [A, B])

    assert topics.get("b") is DECLARED_B
    assert topics.by_id(B.topic_id) is None
    assert topics.with_declared(EMPTY).get("b") is B


def test_a_change_makes_another_snapshot() -> None:
    """The old one stays as it was."""
    before = Topics.of([], [A])

    after = before.with_changes([row_of(B)], [row_of(A)])

    assert (before.names(), after.names()) == (("a",), ("b",))
    assert (after.by_id(A.topic_id), after.by_id(B.topic_id)) == (None, B)
    assert before.by_id(A.topic_id) is A


def test_changes_do_not_touch_what_is_declared() -> None:
    """They happen below it: to stored topics of the same name."""
    topics = Topics.of([DECLARED_B], [B])

    assert topics.with_changes((), [row_of(B)]).get("b") is DECLARED_B
    assert topics.with_changes((), [row_of(B)]).with_declared(EMPTY).get("b") is None
    assert topics.with_changes([row_of(B)], ()).get("b") is DECLARED_B
    assert topics.with_changes((), [row_of(A)]).names() == ("b",)


def test_names_that_collide_are_known() -> None:
    """Through changes, and when the one that collided is deleted."""
    topics = Topics.of([], [a_topic("a.b"), a_topic("plain")])

    assert topics.colliding("a_b") == "a.b"
    assert topics.colliding("plain") is None
    assert topics.with_changes((), [row_of(a_topic("a.b"))]).colliding("a_b") is None
    assert topics.with_changes([row_of(a_topic("x_y"))], ()).colliding("x.y") == "x_y"


def test_deleting_one_of_two_that_collide_keeps_the_other_known() -> None:
    """A catalog may declare a name that collides with a stored one."""
    topics = Topics.of([a_topic("a_b", origin="c.yaml")], [a_topic("a.b")])

    assert topics.with_changes((), [row_of(a_topic("a.b"))]).colliding("a.b") == "a_b"


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


class WatchedTopic(Topic):
    """A topic that knows when it is gone."""

    def __del__(self) -> None:
        self.configs["alive"].remove(self.name)  # type: ignore[attr-defined]


def test_a_layer_is_freed_in_pieces() -> None:
    """Not before its turn, and never more than a piece at once."""
    alive: set[str] = set()
    layers = [EMPTY.with_changes(map(partial(watched, alive), range(10 * SLICE_ITEMS)))]

    counts = [len(alive) for _ in let_go(layers)]

    assert not alive
    assert counts[:10] == [10 * SLICE_ITEMS] * 10
    assert all(0 <= before - after <= SLICE_ITEMS for before, after in pairwise(counts))


def watched(alive: set[str], number: int) -> Topic:
    alive.add(f"t-{number}")
    return WatchedTopic(*a_topic(f"t-{number}", configs={"alive": alive}))


def test_a_topic_with_another_id_is_not_found_by_the_old_one() -> None:
    """What replaces a name replaces its id too."""
    layer = EMPTY.with_changes([A]).with_changes([A._replace(topic_id=b"\3" * 16)])

    topics = Topics(layer)

    assert topics.by_id(A.topic_id) is None
    assert topics.by_id(b"\3" * 16) is topics.get("a")


def test_a_row_of_the_store_is_a_topic() -> None:
    """Kafka's own names are internal; nothing of it comes from a catalog."""
    stored = StoredTopic("__consumer_offsets", b"\2" * 16, 50, 1, {"a": "b"})

    topic = topic_of(stored)

    assert topic[:5] == stored[:5]
    assert topic.assignments == ()
    assert row_of(topic) == stored
    assert topic.internal
    assert topic.origin is None


def test_declared_ids_differ_by_cluster_and_name() -> None:
    """And are 16 bytes that stay the same."""
    assert len({declared_id(cluster, name) for cluster in "ab" for name in "xy"}) == 4
    assert declared_id("a", "x") == declared_id("a", "x")
    assert len(declared_id("a", "x")) == 16


def test_a_topic_keeps_the_brokers_that_were_chosen_for_it() -> None:
    """A row and its topic say the same; a partition without brokers is an empty text."""
    row = StoredTopic("a", bytes(16), 4, 3, {}, ("1,2,0", "", "0,1,2"))

    topic = topic_of(row)

    assert topic.assignments == ((1, 2, 0), (), (0, 1, 2))
    assert row_of(topic) == row
