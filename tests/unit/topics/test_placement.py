"""Where partitions are: brokers that were chosen, and brokers that the server chooses."""

from __future__ import annotations

import pytest

from doorkeeper.cluster.model import Broker
from doorkeeper.topics.placement import Place, Places, in_turn
from testkit.nodes import a_topic


def brokers(**racks: str | None) -> list[Broker]:
    """Return brokers by their ids, written ``b5``, with their racks."""
    return [Broker(int(name[1:]), "host", 9092, rack) for name, rack in racks.items()]


THREE = brokers(b5=None, b6=None, b7=None)


@pytest.mark.parametrize(
    ("partition", "factor", "replicas"),
    [(0, 1, (5,)), (1, 1, (6,)), (2, 2, (7, 5)), (3, 3, (5, 6, 7)), (1, 9, (6, 7, 5))],
)
def test_replicas_go_round_the_brokers(
    partition: int, factor: int, replicas: tuple[int, ...]
) -> None:
    """Never more of them than brokers, and each broker once."""
    topic = a_topic("a", 4, replication_factor=factor)

    assert Places(THREE).of(topic, partition) == Place(replicas, replicas[0], replicas, ())


def test_neighbours_are_of_different_racks() -> None:
    """Two replicas of three racks never share one; a rack with more brokers comes again at last."""
    order = in_turn(brokers(b1="x", b2="x", b3="y", b4="z", b5="x"))

    assert order == [1, 3, 4, 2, 5]


def test_brokers_without_racks_are_in_the_order_of_their_ids() -> None:
    """As without any rack at all."""
    assert in_turn(reversed(THREE)) == [5, 6, 7]


def test_an_assigned_partition_keeps_its_order() -> None:
    """The first broker is preferred, and leads."""
    topic = a_topic("a", 2, assignments=((7, 5, 6),))

    assert Places(THREE).of(topic, 0) == Place((7, 5, 6), 7, (7, 5, 6), ())
    assert Places(THREE).of(topic, 1).leader == 6


def test_of_assigned_brokers_the_first_that_lives_leads() -> None:
    """The others are offline, and not in sync."""
    topic = a_topic("a", assignments=((9, 7, 8, 5),))

    assert Places(THREE).of(topic, 0) == Place((9, 7, 8, 5), 7, (7, 5), (9, 8))


def test_without_a_broker_that_lives_there_is_no_leader() -> None:
    """All replicas are offline."""
    topic = a_topic("a", assignments=((8, 9),))

    assert Places(THREE).of(topic, 0) == Place((8, 9), -1, (), (8, 9))
