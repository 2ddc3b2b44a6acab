"""The keys of the Kafka clusters that get the ACLs of this server."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import Key
from doorkeeper.base.values import KeyType, one_of

ACKNOWLEDGE_CLUSTERS: Final = "clusters"

CLUSTERS: Final = (
    Key(
        name="doorkeeper.clusters.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "A YAML file of Kafka clusters whose ACLs are observed, or kept equal to those of this"
            " server. SIGHUP reads it anew."
        ),
    ),
    Key(
        name="doorkeeper.acknowledge",
        type=KeyType.STRING,
        default="stored",
        doc=(
            "When a change of ACLs is answered: stored, or clusters, once every broker of every"
            " enforced cluster of doorkeeper.clusters.file enforces it. After"
            " doorkeeper.update.timeout.ms the error names the brokers that do not; the change"
            " stays stored."
        ),
        check=one_of("stored", ACKNOWLEDGE_CLUSTERS),
    ),
)
"""All keys, in the order of the documentation."""
