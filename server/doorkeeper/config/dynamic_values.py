"""Values that are given while the server runs: of this node, and of all nodes of the cluster.

They come before the file and the overrides: this node's, then the cluster's, then the file's, then
the default.

Source: KIP-226; ``DynamicBrokerConfig`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.config.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OF_EVERY_CLUSTER: Final[Mapping[str, str]] = {"min.insync.replicas": "1"}
"""What a broker with eligible leader replicas (those of a fresh 4.3.1) has for its cluster, until
somebody sets another value; it cannot be deleted."""

_SOURCES = {True: "the dynamic value of the cluster", False: "the dynamic value of this broker"}


class DynamicValues(NamedTuple):
    """The values that were given, by key: of this node, and of the cluster as a whole."""

    broker: Mapping[str, str] = {}
    cluster: Mapping[str, str] = {}

    @property
    def shown_of_cluster(self) -> dict[str, str]:
        """Return what DescribeConfigs tells of the cluster as a whole."""
        return {**OF_EVERY_CLUSTER, **self.cluster}

    def entries(self) -> Iterator[Entry]:
        """Yield the values as entries of a configuration: the cluster's, then the node's."""
        for values, of_cluster in ((self.cluster, True), (self.broker, False)):
            for key, value in values.items():
                yield Entry(key, value, _SOURCES[of_cluster])

    def without(self, keys: Iterable[str]) -> DynamicValues:
        """Return the values of the other keys."""
        left_out = frozenset(keys)
        return DynamicValues(*({k: v for k, v in m.items() if k not in left_out} for m in self))


def is_dynamic_source(source: str) -> bool:
    """Say whether a problem's source is a dynamic value."""
    return source in _SOURCES.values()
