"""Snapshots of topics."""

from __future__ import annotations

from msgspec.structs import replace

from doorkeeper.server.resources.topics.table import Topics
from testkit.nodes import a_topic

A, B = a_topic("a"), a_topic("b")


def test_topics_are_found_by_name_and_id() -> None:
    topics = Topics.of([B, A])

    assert topics.get("a") is A
    assert topics.by_id(A.topic_id) is A
    assert topics.names() == ("a", "b")
    assert (topics.get("c"), topics.by_id(bytes(16))) == (None, None)


def test_change_makes_a_new_snapshot() -> None:
    before = Topics.of([A])
    again = replace(A, topic_id=b"\3" * 16)

    after = before.with_changes([B], [A])
    replaced = before.with_changes([again], ())

    assert (before.names(), after.names()) == (("a",), ("b",))
    assert (after.by_id(A.topic_id), after.by_id(B.topic_id)) == (None, B)
    assert (replaced.by_id(A.topic_id), replaced.by_id(again.topic_id)) == (None, again)
    assert before.by_id(A.topic_id) is A


def test_colliding_names_are_known() -> None:
    topics = Topics.of([a_topic("a.b"), a_topic("plain")])

    assert topics.colliding("a_b") == "a.b"
    assert topics.colliding("plain") is None
    assert topics.with_changes((), [a_topic("a.b")]).colliding("a_b") is None
    assert topics.with_changes([a_topic("x_y")], ()).colliding("x.y") == "x_y"
