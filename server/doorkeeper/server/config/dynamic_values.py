"""Dynamic values of this node, and of the whole cluster.

The node's value precedes the cluster's, which precedes the file and the overrides, and those the
default.

Source: KIP-226; ``DynamicBrokerConfig`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from doorkeeper.base.entry import Entry

# The value of a new Kafka cluster (4.3.1) with eligible leader replicas; it can be changed, but not
# deleted.
OF_EVERY_CLUSTER: Final[Mapping[str, str]] = {"min.insync.replicas": "1"}

_SOURCES = {True: "the dynamic value of the cluster", False: "the dynamic value of this broker"}


class DynamicValues(NamedTuple):
    """Dynamic values by key: of this node, and of the whole cluster."""

    broker: Mapping[str, str] = {}
    cluster: Mapping[str, str] = {}

    @property
    def shown_of_cluster(self) -> dict[str, str]:
        """Return the cluster's values for DescribeConfigs."""
        return {**OF_EVERY_CLUSTER, **self.cluster}

    def entries(self) -> Iterator[Entry]:
        """Yield the values as entries: the cluster's, then the node's."""
        for values, of_cluster in ((self.cluster, True), (self.broker, False)):
            for key, value in values.items():
                yield Entry(key, value, _SOURCES[of_cluster])

    def without(self, keys: Iterable[str]) -> DynamicValues:
        left_out = frozenset(keys)
        return DynamicValues(*({k: v for k, v in m.items() if k not in left_out} for m in self))


def is_dynamic_source(source: str) -> bool:
    """Return whether the source of a problem is a dynamic value."""
    return source in _SOURCES.values()
