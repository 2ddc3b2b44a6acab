"""Metrics in the formats of Prometheus.

All values are read at once in the loop's thread, in a fraction of a millisecond; the text is
rendered in a worker thread, in tens of milliseconds, one at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from prometheus_client import GCCollector, ProcessCollector
from prometheus_client.core import Metric as Exposed
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString

from doorkeeper.server.runtime.metrics.series import Distribution, Family, Meters
from doorkeeper.server.runtime.metrics.table import Metric, MetricKind

TOTAL: Final = "_total"


class Exposition:
    """The metrics of one server and of its process."""

    def __init__(self, meters: Meters) -> None:
        """The library reads the metrics of the process, on Linux only."""
        self._meters = meters
        self._process = CollectorRegistry()
        ProcessCollector(registry=self._process)
        GCCollector(registry=self._process)
        self._one_at_a_time = asyncio.Lock()

    async def text(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics in the format of an ``Accept`` header, and its content type.

        Without one it is Prometheus' text format.
        """
        async with self._one_at_a_time:
            families = self._meters.families()
            # The values are copies, so that the loop may count on while the thread renders them.
            return await asyncio.to_thread(self._encode, families, accept)

    def _encode(self, families: Sequence[Family], accept: str) -> tuple[bytes, str]:
        encode, content_type = _encoder(accept)
        return encode(_SnapshotRegistry(families, self._process)), content_type


def _encoder(accept: str) -> tuple[Callable[[Collector], bytes], str]:
    """Return the library's encoder, or its default where it fails on a version.

    It compares the parts of a version as text and number, and quotes the version in the type.
    """
    try:
        encode, content_type = choose_encoder(accept)
    except TypeError:
        return choose_encoder("")
    return (encode, content_type) if content_type.isascii() else choose_encoder("")


class _SnapshotRegistry(CollectorRegistry):
    """A registry of values that were read before, then of the library's own."""

    def __init__(self, families: Sequence[Family], process: Collector) -> None:
        super().__init__()
        self._families = families
        self._process = process

    def collect(self) -> Iterable[Exposed]:
        """Yield all metrics, in the order of the table."""
        for family in self._families:
            yield exposition_of(family)
        yield from self._process.collect()


def exposition_of(family: Family) -> Exposed:
    """Return a metric as the library's type."""
    metric = family.metric
    name = metric.name.removesuffix(TOTAL)
    made = Exposed(name, metric.doc, metric.kind.value)
    for values, value in family.values.items():
        labels = dict(zip(metric.labels, values, strict=True))
        if isinstance(value, Distribution):
            _add_distribution(made, metric, labels, value)
        else:
            suffix = TOTAL if metric.kind is MetricKind.COUNTER else ""
            made.add_sample(name + suffix, labels, value)
    return made


def _bound_text(bound: float) -> str:
    text: str = floatToGoString(bound)  # type: ignore[no-untyped-call]
    return text


def _add_distribution(
    made: Exposed, metric: Metric, labels: dict[str, str], value: Distribution
) -> None:
    bounds = (*metric.buckets, float("inf"))
    for bound, count in zip(bounds, value.cumulated, strict=True):
        made.add_sample(f"{metric.name}_bucket", {**labels, "le": _bound_text(bound)}, count)
    made.add_sample(f"{metric.name}_count", labels, value.cumulated[-1])
    made.add_sample(f"{metric.name}_sum", labels, value.sum)
