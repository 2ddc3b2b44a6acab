"""Releases of Kafka whose rules a cluster follows, as the level of ``metadata.version``.

The level is kept in the store, so that all nodes of a cluster follow the same rules. A new store
has it from the beginning, as a row of revision 0; a store without one is older than releases, and
follows the rules of 4.3.

    4.3  30  a host of an ACL is compared as text
    4.4  33  a host of an ACL may be a network (KIP-1276), and is checked

Source: ``MetadataVersion`` (4.3.1, 4.4.0); networks need level 32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import FEATURE, StoredFeature

METADATA_VERSION: Final = "metadata.version"

LEVELS: Final[Mapping[str, int]] = {"4.3": 30, "4.4": 33}
"""The levels of the releases, oldest first."""

LOWEST_LEVEL: Final = 7
"""The lowest level that a broker 4.3 or 4.4 supports: 3.3-IV3."""

OLDEST: Final = "4.3"
"""The release of a store without a level."""

NEWEST: Final = "4.4"
"""The release of new stores, unless ``doorkeeper.kafka.release`` names another."""

TRANSACTION_VERSION: Final = "transaction.version"
TRANSACTION_LEVEL: Final = 2
"""The level with the test broker: producers add partitions by their batches (KIP-890)."""

NETWORKS_FROM: Final = 32
"""The level from which on hosts may be networks: 4.4-IV1."""


def metadata_level(features: Iterable[StoredFeature]) -> int:
    """Return the level of ``metadata.version``."""
    levels = (row.level for row in features if row.name == METADATA_VERSION)
    return next(levels, LEVELS[OLDEST])


def release_of(features: Iterable[StoredFeature]) -> str:
    """Return the newest release whose level is reached."""
    level = metadata_level(features)
    return [release for release, needed in LEVELS.items() if needed <= level][-1]


def has_networks(level: int) -> bool:
    """Say whether hosts of ACLs may be networks at a level of ``metadata.version``."""
    return level >= NETWORKS_FROM


def release_change(release: str) -> Change:
    """Return the change that makes a cluster follow a release."""
    return edit(FEATURE, set=[StoredFeature(METADATA_VERSION, LEVELS[release])])
