"""The Kafka clusters of a server. Modules for them are imported only with a file of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.app.errors import StartError

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.clusters.config import ClusterConfig


def clusters_of(file: Path | None) -> tuple[ClusterConfig, ...]:
    """Return the clusters of a file; none without a file.

    Raises:
        StartError: with every fault of the file.

    """
    if file is None:
        return ()
    from doorkeeper.catalog.errors import CatalogError  # noqa: PLC0415  see above
    from doorkeeper.clusters.config import load  # noqa: PLC0415  as above

    try:
        return load(file)
    except CatalogError as error:
        raise StartError(*map(str, error.problems)) from error
