"""A Doorkeeper that keeps clusters equal to itself, and clusters that are Doorkeepers too."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from doorkeeper.testing import DoorkeeperServer
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from doorkeeper.clusters.synchronization import ClusterSynchronization
    from doorkeeper.testing.options import Acls

WAIT_S = 20
INTERVAL_MS = 200


@contextmanager
def target(acls: Acls = ()) -> Iterator[DoorkeeperServer]:
    """Yield a cluster that everyone may administer."""
    with DoorkeeperServer(
        acls=acls, listeners=["PLAINTEXT"], super_users=["User:ANONYMOUS"]
    ) as found:
        yield found


def cluster(name: str, bootstrap: str, **keys: Any) -> dict[str, Any]:
    """Return an enforced cluster of a file, which owns everything."""
    return {
        "name": name,
        "bootstrap": bootstrap,
        "mode": "enforce",
        "scope": "everything",
        "interval.ms": INTERVAL_MS,
        **keys,
    }


@contextmanager
def doorkeeper(
    folder: Path, *clusters: dict[str, Any], acls: Acls = (), **properties: str
) -> Iterator[DoorkeeperServer]:
    """Yield a server with these clusters; properties have underscores instead of dots."""
    file = folder / f"clusters-{len(list(folder.iterdir()))}.yaml"
    file.write_text(json.dumps({"clusters": clusters}), encoding="utf-8")
    keys = {key.replace("_", "."): value for key, value in properties.items()}
    with DoorkeeperServer(
        acls=acls,
        listeners=["PLAINTEXT"],
        super_users=["User:ANONYMOUS"],
        properties={"doorkeeper.clusters.file": str(file), **keys},
    ) as found:
        yield found


def synchronization(server: DoorkeeperServer, number: int = 0) -> ClusterSynchronization:
    """Return the task of a cluster."""
    fleet = server._running().fleet
    assert fleet is not None, "there is a file of clusters"
    return fleet.clusters[number]


def status(server: DoorkeeperServer, number: int = 0) -> dict[str, Any]:
    """Return the status of a cluster."""
    fleet = server._running().fleet
    assert fleet is not None, "there is a file of clusters"

    async def read() -> dict[str, Any]:
        return fleet.status()[number]

    return server._run(read())


def eventually(holds: Callable[[], object], tell: Callable[[], object] = lambda: "") -> None:
    """Wait until something holds.

    Raises:
        AssertionError: it never does.
    """
    ends_s = time.monotonic() + scaled(WAIT_S)
    while not holds():
        assert time.monotonic() < ends_s, f"it never held: {tell()}"
        time.sleep(0.01)
