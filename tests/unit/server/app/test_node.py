"""The node as handlers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from doorkeeper.server.app.node import LiveNode
from doorkeeper.server.resources.cluster import Broker, Member
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CREDENTIAL
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore
from testkit.nodes import HandTokens, a_group
from testkit.settings import settings_of
from testkit.stores import credential

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.server.config.settings import Settings

TEXT = """
node.id=7
broker.rack=r1
listeners=ALL://:0,FIXED://localhost:0
advertised.listeners=ALL://:0,FIXED://door.example:19092
listener.security.protocol.map=ALL:PLAINTEXT,FIXED:PLAINTEXT
"""


def log_of() -> StateLog:
    return StateLog(MemoryStore(edit(CREDENTIAL, set=[credential("alice")]), cluster_id="c" * 22))


def node_of(
    settings: Settings,
    random_bytes: Callable[[int], bytes] = bytes,
    log: StateLog | None = None,
) -> LiveNode:
    return LiveNode(
        settings=settings,
        log=log_of() if log is None else log,
        authorizer=None,
        tokens=HandTokens(),
        random_bytes=random_bytes,
        now_ms=lambda: 0,
    )


async def test_advertised_addresses_are_completed() -> None:
    settings = settings_of(TEXT)
    node = node_of(settings)

    for listener in settings.listeners:
        assert not node.brokers(listener.name)
        node.advertise(listener, 31000, "host.example")
        assert node.brokers(listener.name)

    assert node.brokers("ALL") == (Broker(7, "host.example", 31000, "r1"),)
    assert node.brokers("FIXED") == (Broker(7, "door.example", 19092, "r1"),)


OTHERS = (
    Member(3, {"ALL": ("three", 9092)}, None, ""),
    Member(9, {"ALL": ("nine", 9092), "FIXED": ("nine", 9093)}, "r2", ""),
)


async def test_live_nodes_are_listed_by_id() -> None:
    settings = settings_of(TEXT)
    node = node_of(settings)
    node.advertise(settings.listeners[0], 31000, "host.example")

    node.use_others((*OTHERS, Member(7, {"ALL": ("stale", 1)}, None, "")))
    node.advertise(settings.listeners[1], 31000, "host.example")

    assert node.brokers("ALL") == (
        Broker(3, "three", 9092),
        Broker(7, "host.example", 31000, "r1"),
        Broker(9, "nine", 9092, "r2"),
    )
    assert [each.node_id for each in node.brokers("FIXED")] == [7, 9]
    node.use_others(())
    assert [each.node_id for each in node.brokers("ALL")] == [7]


async def test_inactive_node_is_fenced() -> None:
    settings = settings_of(TEXT)
    node = node_of(settings)
    node.advertise(settings.listeners[0], 31000, "host.example")

    node.use_others((replace(OTHERS[0], fenced_ms=5), OTHERS[1]))

    assert [each.node_id for each in node.brokers("ALL")] == [7, 9]
    assert [each.node_id for each in node.registered_brokers("ALL")] == [3, 7, 9]
    assert [each.is_fenced for each in node.registered_brokers("ALL")] == [True, False, False]
    assert node.controller_id == 7


async def test_lowest_live_id_is_the_controller() -> None:
    log = log_of()
    log.amend(live_groups={"g": a_group("g")})
    node = node_of(settings_of(TEXT), log=log)

    node.use_others(OTHERS)
    assert (node.controller_id, node.coordinator_id) == (3, 3)
    assert node.groups == {}
    node.use_others(OTHERS[1:])

    assert (node.controller_id, node.coordinator_id) == (7, 7)
    assert list(node.groups) == ["g"]


async def test_node_registration() -> None:
    settings = settings_of(TEXT)
    node = node_of(settings)
    for listener in settings.listeners:
        node.advertise(listener, 31000, "host.example")

    assert node.as_member(b"\xab") == Member(
        7, {"ALL": ("host.example", 31000), "FIXED": ("door.example", 19092)}, "r1", "ab"
    )


async def test_changed_nodes_make_another_state() -> None:
    settings = settings_of(TEXT)
    node = node_of(settings)
    states = [node.state]

    node.advertise(settings.listeners[0], 31000, "host.example")
    states.append(node.state)
    node.use_others(OTHERS)
    states.append(node.state)

    assert len(set(map(id, states))) == 3
    assert node.state is node.state


async def test_topic_ids_are_random_uuids() -> None:
    """They are of version 4; one whose text would begin with a hyphen is drawn again."""
    drawn = iter([b"\xf8" * 16, b"\xfb" * 16, b"\xff" * 16])
    node = node_of(settings_of(""), lambda size: next(drawn))

    topic_id = node.new_topic_id()

    assert topic_id == bytes.fromhex("ffffffffffff4fffbfffffffffffffff")
