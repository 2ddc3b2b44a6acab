"""A Doorkeeper that keeps clusters equal to itself, and clusters that are Doorkeepers too."""

from __future__ import annotations

import json
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from doorkeeper.server.state.memory import MEMORY_STORE_ID
from doorkeeper.server.state.storage.database import connect_readonly
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.schema import meta
from doorkeeper.sync.fleet import ClusterFleet
from doorkeeper.testing import DoorkeeperServer
from testkit.cluster import Cluster
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from doorkeeper.sync.synchronization import ClusterSynchronization
    from doorkeeper.testing.options import Acls
    from testkit.postgres import Database

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
    """Return an enforced cluster of a file, which owns everything: of a server of a test."""
    return {
        "name": name,
        "bootstrap": bootstrap,
        "store": MEMORY_STORE_ID,
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


def store_id_of(data_dir: Path) -> str:
    """Return the id of an embedded store; a server may be using it."""
    with closing(connect_readonly(data_dir / DATABASE_NAME)) as connection:
        return str(meta(connection, "store_id"))


def shared_store_id_of(database: Database) -> str:
    """Return the id of a shared store; the first node makes it."""
    with Cluster(database, 1):
        return database.execute("SELECT value FROM doorkeeper.meta WHERE key = 'store_id'").strip()


def synchronization(server: DoorkeeperServer, number: int = 0) -> ClusterSynchronization:
    """Return the task of a cluster."""
    fleet = server._running().fleet
    assert isinstance(fleet, ClusterFleet), "there is a file of clusters"
    return fleet.clusters[number]


def status(server: DoorkeeperServer, number: int = 0) -> dict[str, Any]:
    """Return the status of a cluster."""
    fleet = server._running().fleet
    assert fleet is not None, "there is a file of clusters"

    async def read() -> dict[str, Any]:
        return fleet.status()[number]

    return server._run(read())


def status_at(port: int) -> dict[str, Any]:
    """Return the status of the first cluster, as an operations port has it."""
    with urlopen(f"http://127.0.0.1:{port}/clusters") as answer:
        found: dict[str, Any] = json.load(answer)["clusters"][0]
    return found


def eventually(holds: Callable[[], object], tell: Callable[[], object] = lambda: "") -> None:
    """Wait until something holds.

    Raises:
        AssertionError: it never does.
    """
    ends_s = time.monotonic() + scaled(WAIT_S)
    while not holds():
        assert time.monotonic() < ends_s, f"it never held: {tell()}"
        time.sleep(0.01)
