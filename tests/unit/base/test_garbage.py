"""What the garbage collector looks at, and what it need not."""

from __future__ import annotations

import gc
import socket
import ssl
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.garbage_collection import (
    THRESHOLDS,
    freeze_survivors,
    frozen_allocations,
    limit_collections,
)
from doorkeeper.testing import DoorkeeperServer
from testkit.cycles import left_in_cycles
from testkit.edge import versions

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Leave the collector as it was, and let it see the test's own objects alone."""
    before = gc.get_threshold()
    gc.freeze()
    yield
    gc.set_threshold(*before)
    if freeze_survivors in gc.callbacks:
        gc.callbacks.remove(freeze_survivors)


class Knot:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_surviving_objects_are_frozen() -> None:
    limit_collections()
    frozen = gc.get_freeze_count()

    kept = [[number] for number in range(20 * THRESHOLDS[0])]

    assert gc.get_freeze_count() > frozen + len(kept) // 2
    assert len(gc.get_objects(2)) == 0
    assert len(gc.get_objects(1)) <= THRESHOLDS[0] * (THRESHOLDS[1] + 2)


def test_short_lived_cycles_are_collected() -> None:
    limit_collections()
    frozen = gc.get_freeze_count()

    for _ in range(20 * THRESHOLDS[0]):
        Knot()

    knots = sum(1 for each in gc.get_objects() if isinstance(each, Knot))
    assert knots <= THRESHOLDS[0]
    assert gc.get_freeze_count() < frozen + THRESHOLDS[0]


def test_permanent_objects_are_never_scanned() -> None:
    limit_collections()
    collections: list[str] = []
    watch = collections.append
    gc.callbacks.append(lambda phase, _info: watch(phase))
    try:
        with frozen_allocations():
            collections.clear()
            kept = [[number] for number in range(20 * THRESHOLDS[0])]
            made_during = len(collections)
    finally:
        gc.callbacks.pop()

    assert made_during == 0
    assert gc.isenabled()
    assert not {id(each) for each in kept} & {id(each) for each in gc.get_objects()}


@pytest.mark.parametrize(
    ("listener", "data", "is_answered"),
    [
        ("PLAINTEXT", versions(), True),
        ("PLAINTEXT", b"\xff" * 8, False),
        ("SSL", versions(), True),
        ("SSL", b"GET / HTTP/1.1\r\n\r\n", False),
    ],
    ids=["a request", "a negative frame", "a request, TLS", "too large a frame, TLS"],
)
def test_closed_connections_leave_no_cycles(
    listener: str,
    data: bytes,
    is_answered: bool,
) -> None:
    """They may have lived long, and are freed without the collector, however they ended."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with DoorkeeperServer(listeners=(listener,)) as server:
        host, port = server.bootstrap_servers.rsplit(":", 1)
        with left_in_cycles() as found:
            for _ in range(5):
                with socket.create_connection((host, int(port))) as plain:
                    client = context.wrap_socket(plain) if listener == "SSL" else plain
                    client.sendall(data)
                    assert bool(client.recv(4)) is is_answered
                    client.close()

    assert [each for each in found if each.__module__.startswith(("doorkeeper", "uvloop"))] == []
