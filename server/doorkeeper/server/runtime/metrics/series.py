"""The values of metrics: plain attributes, bound once, cheap to change.

A part looks its series up once, by metric and label values; ``add`` and ``observe`` then do no
look-up and take no lock. A number that a part has anyway is not counted again: a reader returns it
at each scrape.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import NamedTuple, TypeVar

from doorkeeper.server.runtime.metrics.table import METRIC_FAULTS, METRICS, Metric, MetricKind

S = TypeVar("S")

Labels = tuple[str, ...]
Reader = Callable[[], "float | Mapping[Labels, float] | None"]
"""Returns one value, or one for each set of labels, or None for no value."""


class Counter:
    """A counter or a gauge."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def add(self, amount: float = 1) -> None:
        self.value += amount


class Histogram:
    """The number of values up to each bound, and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        """``counts`` has one number more than there are bounds."""
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum: float = 0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)


class Distribution(NamedTuple):
    """A histogram at one time: cumulative counts for each bound; the last is the total."""

    cumulated: tuple[int, ...]
    sum: float


class Family(NamedTuple):
    """A metric at one time, by label values."""

    metric: Metric
    values: Mapping[Labels, float | Distribution]


class Meters:
    """All series of one server. Not thread-safe; each series has its own thread."""

    def __init__(self, declared: tuple[Metric, ...] = METRICS) -> None:
        self._declared = tuple(each for each in declared if not each.foreign)
        # Keyed by the metric object: a metric that is not in the table cannot be counted.
        self._counters: dict[Metric, dict[Labels, Counter]] = {}
        self._histograms: dict[Metric, dict[Labels, Histogram]] = {}
        self._readers: dict[Metric, Reader] = {}
        for metric in self._declared:
            if metric.kind is MetricKind.HISTOGRAM:
                self._histograms[metric] = {}
            else:
                self._counters[metric] = {}
        self._faults = self.counter(METRIC_FAULTS) if METRIC_FAULTS in declared else Counter()

    def counter(self, metric: Metric, *labels: str) -> Counter:
        """Return the series of a counter, or of a gauge that is set, with these labels."""
        return _bound(self._counters, metric, labels, Counter)

    def histogram(self, metric: Metric, *labels: str) -> Histogram:
        return _bound(self._histograms, metric, labels, lambda: Histogram(metric.buckets))

    def read(self, metric: Metric, reader: Reader) -> None:
        """Register a reader, called in the scraping thread; it replaces an earlier one."""
        assert metric in self._counters, f"{metric.name} is no counter or gauge of the table"
        self._readers[metric] = reader

    def families(self) -> list[Family]:
        """Return all current values, in the order of the table.

        A reader that raises makes its metric empty and is counted; other metrics are not affected.
        """
        return [Family(metric, self._values(metric)) for metric in self._declared]

    def _values(self, metric: Metric) -> dict[Labels, float | Distribution]:
        if metric.kind is MetricKind.HISTOGRAM:
            return {
                labels: Distribution(tuple(accumulate(each.counts)), each.sum)
                for labels, each in self._histograms[metric].items()
            }
        values: dict[Labels, float | Distribution] = {
            labels: each.value for labels, each in self._counters[metric].items()
        }
        if metric in self._readers:
            values.update(self._read(metric))
        return values

    def _read(self, metric: Metric) -> dict[Labels, float]:
        try:
            found = self._readers[metric]()
            if found is None:
                return {}
            # A reader of a metric without labels returns a plain number.
            if not isinstance(found, Mapping):
                found = {(): found}
            return {_check_labels(metric, labels): float(value) for labels, value in found.items()}
        except Exception:  # one metric must not cost the others
            self._faults.add()
            return {}


def _bound(
    series: dict[Metric, dict[Labels, S]], metric: Metric, labels: Labels, make: Callable[[], S]
) -> S:
    assert metric in series, f"{metric.name} is not declared as such"
    of_metric = series[metric]
    # Two parts that bind the same labels share the series; both must write in one thread.
    if labels not in of_metric:
        of_metric[_check_labels(metric, labels)] = make()
    return of_metric[labels]


def _check_labels(metric: Metric, labels: Labels) -> Labels:
    assert len(labels) == len(metric.labels), f"{metric.name} has labels {metric.labels}"
    return labels
