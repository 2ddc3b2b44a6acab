"""The numbers behind the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.series import Distribution, Histogram, Meters

if TYPE_CHECKING:
    from doorkeeper.server.runtime.metrics.series import Labels


def values_of(meters: Meters, metric: table.Metric) -> dict[Labels, float | Distribution]:
    return {family.metric: dict(family.values) for family in meters.families()}[metric]


def test_a_value_counts_in_the_first_bucket_that_holds_it() -> None:
    """A bound belongs to its bucket; what is larger than all bounds counts in the last."""
    histogram = Histogram((1.0, 2.0))

    for value in (0.5, 1.0, 1.5, 2.0, 2.5, 100.0):
        histogram.observe(value)

    assert histogram.counts == [2, 2, 2]
    assert histogram.count == 6
    assert histogram.sum == 107.5


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
