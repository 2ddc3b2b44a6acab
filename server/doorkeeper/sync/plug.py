"""What a server uses of this package: ``doorkeeper.server.app.clusters`` says how."""

from __future__ import annotations

from pathlib import Path

from doorkeeper.server.app.errors import StartError
from doorkeeper.server.config.document import FaultyDocument
from doorkeeper.sync.config import ClusterConfig, load
from doorkeeper.sync.fleet import ClusterFleet

__all__ = ["ClusterFleet", "configs_of"]


def configs_of(file: Path | None) -> tuple[ClusterConfig, ...]:
    """Return the clusters of a file; none without a file.

    Raises:
        StartError: with every fault of the file.

    """
    try:
        return () if file is None else load(file)
    except FaultyDocument as error:
        raise StartError(*map(str, error.problems)) from error
