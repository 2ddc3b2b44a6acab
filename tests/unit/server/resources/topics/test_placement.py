"""Where partitions are: brokers that were chosen, and brokers that the server chooses."""

from __future__ import annotations

import pytest

from doorkeeper.server.resources.cluster import Broker
from doorkeeper.server.resources.topics.placement import Place, Places, in_turn
from testkit.nodes import a_topic, brokers_of


def brokers(**racks: str | None) -> list[Broker]:
    """Return brokers by their ids, written ``b5``, with their racks."""
    return [Broker(int(name[1:]), "host", 9092, rack) for name, rack in racks.items()]


THREE = brokers(b5=None, b6=None, b7=None)


@pytest.mark.parametrize(
    ("partition", "factor", "replicas"),
    [(0, 1, (5,)), (1, 1, (6,)), (2, 2, (7, 5)), (3, 3, (5, 6, 7)), (1, 9, (6, 7, 5))],
)
def test_replicas_are_distributed_round_robin(
    partition: int, factor: int, replicas: tuple[int, ...]
) -> None:
    topic = a_topic("a", 4, replication_factor=factor)

    assert Places(THREE).of(topic, partition) == Place(replicas, replicas[0], replicas, ())


def test_adjacent_replicas_are_on_different_racks() -> None:
    racks = brokers(b1="x", b2="x", b3="y", b4="z", b5="x")

    assert in_turn(racks) == [1, 3, 4, 2, 5]
    assert in_turn(reversed(THREE)) == [5, 6, 7]


@pytest.mark.parametrize(
    ("replicas", "place"),
    [
        ((7, 5, 6), Place((7, 5, 6), 7, (7, 5, 6), ())),
        ((9, 7, 8, 5), Place((9, 7, 8, 5), 7, (7, 5), (9, 8))),
        ((8, 9), Place((8, 9), -1, (), (8, 9))),
    ],
)
def test_first_live_broker_leads(replicas: tuple[int, ...], place: Place) -> None:
    topic = a_topic("a", 2, assignments=(replicas,))

    assert Places(THREE).of(topic, 0) == place
    assert Places(THREE).of(topic, 1).leader == 6


@pytest.mark.parametrize(
    ("replicas", "place"),
    [
        ((2, 3), Place((2, 3), 2, (2,), (3,))),
        ((3, 1), Place((3, 1), 1, (1,), (3,))),
        ((3,), Place((3,), -1, (), (3,))),
        ((3, 2, 1), Place((3, 2, 1), 2, (2, 1), (3,))),
    ],
)
def test_fenced_broker_leaves_the_isr(replicas: tuple[int, ...], place: Place) -> None:
    """The next live one leads, as observed of a cluster of 4.3.1 whose third node was killed."""
    places = Places(brokers_of(1, 2, fenced=[3]))

    assert places.of(a_topic("a", assignments=(replicas,)), 0) == place


def test_fenced_broker_keeps_unassigned_partitions() -> None:
    places = Places(brokers_of(1, fenced=[2]))
    topic = a_topic("a", 2, replication_factor=1)

    assert [places.of(topic, index).leader for index in (0, 1)] == [1, -1]


@pytest.mark.parametrize(
    ("replicas", "fenced", "min_in_sync", "eligible", "last"),
    [
        ((3,), (3,), 1, (3,), (3,)),
        ((2, 3), (3,), 2, (3,), ()),
        ((2, 3, 1), (3,), 2, (), ()),
        ((2, 3), (3, 2), 1, (2,), (2,)),
        ((2, 3, 1), (3, 2), 2, (2,), ()),
        ((2, 3), (3, 2), 2, (2, 3), (2,)),
    ],
)
def test_last_isr_members_are_eligible_leaders(
    replicas: tuple[int, ...],
    fenced: tuple[int, ...],
    min_in_sync: int,
    eligible: tuple[int, ...],
    last: tuple[int, ...],
) -> None:
    """As observed of a cluster of 4.3.1 whose nodes 3 and 2 were killed, in this order."""
    live = {1, 2, 3} - set(fenced)
    places = Places(brokers_of(*live, fenced=fenced))
    place = places.of(a_topic("a", assignments=(replicas,)), 0)

    assert places.eligible(place, min_in_sync) == eligible
    assert places.last_leader(place) == last


def test_unregistered_broker_is_offline() -> None:
    places = Places(brokers_of(1, fenced=[2]))
    place = places.of(a_topic("a", assignments=((9, 2),)), 0)

    assert place == Place((9, 2), -1, (), (9, 2))
    assert places.eligible(place, 1) == (2,)
    assert places.last_leader(place) == (2,)
