"""What the parts of a server know anyway."""

from __future__ import annotations

import platform
from typing import Any, cast

from doorkeeper.app.operations_port import (
    read_edge,
    read_node,
    read_store,
)
from doorkeeper.limits import Limits
from doorkeeper.metrics.hooks import StoreStatus
from doorkeeper.metrics.series import Meters
from doorkeeper.version import __version__
from testkit.edge import edge


def values(meters: Meters) -> dict[str, dict[tuple[str, ...], Any]]:
    """Return what is known of each metric; nothing may have failed to be read."""
    found = {family.metric.name: dict(family.values) for family in meters.families()}
    assert found["doorkeeper_metric_faults_total"] == {(): 0}
    return found


async def test_the_edge_is_read() -> None:
    """Connections by listener, bytes that are held, what waits, and the bound."""
    meters, limits = Meters(), Limits(updates_waiting_max=7)
    async with edge(limits=limits) as running:
        read_edge(meters, running.server, limits)
        await running.client()
        while not running.server.connections:
            await (await running.client()).send(b"")
        found = values(meters)

        accepted = found["doorkeeper_connections_accepted_total"]["CLIENTS",]
        assert found["doorkeeper_connections"] == {("CLIENTS",): accepted}
        assert accepted >= 1
        assert found["doorkeeper_tls_handshakes_total"] == {}
        assert found["doorkeeper_held_bytes"] == {("in",): 0, ("out",): 0}
        assert found["doorkeeper_delayed_operations"]["acl-update",] == 0
        assert found["doorkeeper_purgatory_size"]["topics",] == 0
        assert found["doorkeeper_purgatory_size_max"] == {("acl-update",): 7}


def test_the_store_is_read_as_it_is_seen_now() -> None:
    """Our revision, the newest that is known, how old that is, whether it answers."""

    class Store:
        seen = StoreStatus(True, 5, 5)

        def status(self) -> StoreStatus:
            return self.seen

    meters, store = Meters(), Store()
    read_store(meters, store)
    assert values(meters)["doorkeeper_store_reachable"] == {(): 1}

    store.seen = StoreStatus(reachable=False, revision=5, head_revision=9, age_s=2.5)

    found = values(meters)
    assert found["doorkeeper_revision"] == {(): 5}
    assert found["doorkeeper_head_revision"] == {(): 9}
    assert found["doorkeeper_snapshot_age_seconds"] == {(): 2.5}
    assert found["doorkeeper_store_reachable"] == {(): 0}


def test_the_node_is_read() -> None:
    """How many nodes it tells of, once it knows its own address; whether it is the controller."""

    class Node:
        node_id = controller_id = 3
        advertised = False

        class settings:  # noqa: N801  an attribute of a node
            inter_broker_listener_name = "INTERNAL"

        def is_advertised(self, name: str) -> bool:
            return self.advertised and name == "INTERNAL"

        def brokers(self, name: str) -> list[str]:
            return [f"one on {name}", f"another on {name}"]

    meters, node = Meters(), Node()
    read_node(meters, cast("Any", node))
    assert values(meters)["doorkeeper_nodes"] == {}

    node.advertised = True

    found = values(meters)
    assert found["doorkeeper_nodes"] == {(): 2}
    assert found["doorkeeper_is_controller"] == {(): 1}
    node.controller_id = 4
    assert values(meters)["doorkeeper_is_controller"] == {(): 0}
    assert found["doorkeeper_build_info"] == {(__version__, platform.python_version()): 1}
