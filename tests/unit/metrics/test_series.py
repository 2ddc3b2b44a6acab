"""The numbers behind the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.metrics import table
from doorkeeper.metrics.series import Distribution, Histogram, Meters

if TYPE_CHECKING:
    from doorkeeper.metrics.series import Labels


def values_of(meters: Meters, metric: table.Metric) -> dict[Labels, float | Distribution]:
    return {family.metric: dict(family.values) for family in meters.families()}[metric]


def test_a_series_is_bound_once() -> None:
    """The same metric and labels give the same series; others give another."""
    meters = Meters()

    meters.counter(table.DECISIONS, "allowed").add()
    meters.counter(table.DECISIONS, "allowed").add(2)
    meters.counter(table.DECISIONS, "denied").add()

    assert values_of(meters, table.DECISIONS) == {("allowed",): 3, ("denied",): 1}


def test_a_value_counts_in_the_first_bucket_that_holds_it() -> None:
    """A bound belongs to its bucket; what is larger than all bounds counts in the last."""
    histogram = Histogram((1.0, 2.0))

    for value in (0.5, 1.0, 1.5, 2.0, 2.5, 100.0):
        histogram.observe(value)

    assert histogram.counts == [2, 2, 2]
    assert histogram.count == 6
    assert histogram.sum == 107.5


def test_a_distribution_is_cumulated() -> None:
    """Each bucket holds those before it, as Prometheus has them; the last holds all."""
    meters = Meters()
    histogram = meters.histogram(table.REQUEST_SECONDS, "Metadata")

    histogram.observe(0.0)
    histogram.observe(99.0)

    found = values_of(meters, table.REQUEST_SECONDS)["Metadata",]
    assert isinstance(found, Distribution)
    assert found.cumulated == (*[1] * len(table.FAST_S), 2)
    assert found.sum == 99.0


def test_every_declared_metric_has_a_family() -> None:
    """Also those without a value; what the publishing library reads is not ours to give."""
    names = [family.metric.name for family in Meters().families()]

    assert names == [metric.name for metric in table.METRICS if not metric.foreign]


def test_readers_are_asked_at_each_reading() -> None:
    """One gives a number, a number for each set of labels, or nothing."""
    meters, count = Meters(), [0]

    def acls() -> int:
        count[0] += 1
        return count[0]

    meters.read(table.ACLS, acls)
    meters.read(table.CONNECTIONS, lambda: {("PLAINTEXT",): 3, ("SSL",): 0})
    meters.read(table.NODES, lambda: None)

    assert values_of(meters, table.ACLS) == {(): 1}
    assert values_of(meters, table.ACLS) == {(): 2}
    assert values_of(meters, table.CONNECTIONS) == {("PLAINTEXT",): 3, ("SSL",): 0}
    assert values_of(meters, table.NODES) == {}


@pytest.mark.parametrize("broken", [RuntimeError("no"), {("a", "b"): 1}, "text"])
def test_a_reader_that_fails_costs_its_metric_only(broken: object) -> None:
    """What raises, has other labels or gives no number is counted; the others are read."""
    meters = Meters()

    def read() -> float:
        if isinstance(broken, Exception):
            raise broken
        return broken  # type: ignore[return-value]

    meters.read(table.CONNECTIONS, read)
    meters.read(table.ACLS, lambda: 7)

    found = {family.metric: family.values for family in meters.families()}
    assert found[table.CONNECTIONS] == {}
    assert found[table.ACLS] == {(): 7}
    assert found[table.METRIC_FAULTS] == {(): 1}


def test_only_what_is_declared_can_be_counted() -> None:
    """A metric of another table, of another type or with other labels is a slip of ours."""
    meters = Meters()
    other = table.Metric(name="other", kind=table.MetricKind.COUNTER, doc="Other.")

    with pytest.raises(AssertionError, match="not declared"):
        meters.counter(other)
    with pytest.raises(AssertionError, match="not declared"):
        meters.counter(table.REQUEST_SECONDS, "Metadata")
    with pytest.raises(AssertionError, match="labels"):
        meters.counter(table.DECISIONS)
    with pytest.raises(AssertionError, match="counter or gauge"):
        meters.read(other, lambda: 1)
