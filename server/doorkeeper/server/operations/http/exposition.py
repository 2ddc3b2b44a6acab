"""Metrics in the formats of Prometheus.

All values are read at once in the loop's thread, in a fraction of a millisecond; the text is
rendered in a worker thread, in tens of milliseconds, one at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import GCCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from doorkeeper.server.runtime.threads import beside

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from doorkeeper.server.runtime.metrics.series import Meters


class Exposition:
    """The metrics of one server and of its process."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._process = process_metrics()
        self._one_at_a_time = asyncio.Lock()

    async def text(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics in the format of an ``Accept`` header, and its content type.

        Without one it is Prometheus' text format.
        """
        async with self._one_at_a_time:
            # The values are copies, so that the loop may count on while the thread renders them.
            encode = partial(self._encode, self._meters.collect(), accept)
            return await beside(encode, "doorkeeper-metrics")

    def _encode(self, metrics: list[Metric], accept: str) -> tuple[bytes, str]:
        encode, content_type = _encoder(accept)
        return encode(_Values([*metrics, *self._process.collect()])), content_type


def process_metrics() -> CollectorRegistry:
    """Return the library's metrics of the process (Linux only) and of Python's collector."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


class _Values(Collector):
    """Values that were read before."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _encoder(accept: str) -> tuple[Callable[[Collector], bytes], str]:
    """Return the library's encoder, or its default where it fails on a version.

    It compares the parts of a version as text and number, and quotes the version in the type.
    """
    try:
        encode, content_type = choose_encoder(accept)
    except TypeError:
        return choose_encoder("")
    return (encode, content_type) if content_type.isascii() else choose_encoder("")
