"""The numbers behind the metrics: plain attributes, bound once, that cost little to change.

A series is found by its metric and the values of its labels when a part is made; from then on it is
an object with an ``add`` or ``observe``, which does no look-up and takes no lock. What a part knows
anyway is not counted a second time: a reader gives it at each scrape.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import NamedTuple, TypeVar

from doorkeeper.metrics.table import METRIC_FAULTS, METRICS, Kind, Metric

S = TypeVar("S")

Labels = tuple[str, ...]
Reader = Callable[[], "float | Mapping[Labels, float] | None"]
"""Gives one value, or one for each set of labels, or None where there is nothing to tell."""


class Counter:
    """Goes up."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        """Begin at zero."""
        self.value: float = 0

    def add(self, amount: float = 1) -> None:
        """Go up."""
        self.value += amount


class Histogram:
    """How often something was at most each of its bounds, and the sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        """Begin with nothing seen. ``counts`` has one number more than there are bounds."""
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum: float = 0

    def observe(self, value: float) -> None:
        """See a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        """Return how many values were seen."""
        return sum(self.counts)


class Distribution(NamedTuple):
    """A histogram at one moment: how many values were at most each bound; the last is of all."""

    cumulated: tuple[int, ...]
    sum: float


class Family(NamedTuple):
    """A metric at one moment, by the values of its labels."""

    metric: Metric
    values: Mapping[Labels, float | Distribution]


class Meters:
    """All series of one server. For one thread, but for what single series say."""

    def __init__(self, declared: tuple[Metric, ...] = METRICS) -> None:
        """Begin with every metric that is declared, and no series."""
        self._declared = tuple(each for each in declared if not each.foreign)
        self._counters: dict[Metric, dict[Labels, Counter]] = {}
        self._histograms: dict[Metric, dict[Labels, Histogram]] = {}
        self._readers: dict[Metric, Reader] = {}
        for metric in self._declared:
            if metric.kind is Kind.HISTOGRAM:
                self._histograms[metric] = {}
            else:
                self._counters[metric] = {}
        self._faults = self.counter(METRIC_FAULTS) if METRIC_FAULTS in declared else Counter()

    def counter(self, metric: Metric, *labels: str) -> Counter:
        """Return the series of a counter, or of a gauge that somebody sets, with these labels."""
        return _bound(self._counters, metric, labels, Counter)

    def histogram(self, metric: Metric, *labels: str) -> Histogram:
        """Return the series of a histogram with these labels."""
        return _bound(self._histograms, metric, labels, lambda: Histogram(metric.buckets))

    def read(self, metric: Metric, reader: Reader) -> None:
        """Read a metric at each scrape, on the thread that scrapes; the last reader counts."""
        assert metric in self._counters, f"{metric.name} is no counter or gauge of the table"
        self._readers[metric] = reader

    def families(self) -> list[Family]:
        """Return all numbers of this moment, in the order of the table.

        A reader that raises makes its metric empty and is counted; nothing else suffers.
        """
        return [Family(metric, self._values(metric)) for metric in self._declared]

    def _values(self, metric: Metric) -> dict[Labels, float | Distribution]:
        if metric.kind is Kind.HISTOGRAM:
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
            if not isinstance(found, Mapping):
                found = {(): found}
            return {_checked(metric, labels): float(value) for labels, value in found.items()}
        except Exception:  # noqa: BLE001 - one metric must not cost the others
            self._faults.add()
            return {}


def _bound(
    series: dict[Metric, dict[Labels, S]], metric: Metric, labels: Labels, make: Callable[[], S]
) -> S:
    assert metric in series, f"{metric.name} is not declared as such"
    of_metric = series[metric]
    if labels not in of_metric:
        of_metric[_checked(metric, labels)] = make()
    return of_metric[labels]


def _checked(metric: Metric, labels: Labels) -> Labels:
    assert len(labels) == len(metric.labels), f"{metric.name} has labels {metric.labels}"
    return labels
