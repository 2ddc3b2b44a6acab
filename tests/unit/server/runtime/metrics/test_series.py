"""The numbers behind the metrics."""

from __future__ import annotations

import pytest

from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.series import Histogram, Meters
from testkit.metrics import samples


def test_value_is_counted_in_its_bucket() -> None:
    histogram = Histogram((1.0, 2.0))

    for value in (0.5, 1.0, 1.5, 2.0, 2.5, 100.0):
        histogram.observe(value)

    assert histogram.counts == [2, 2, 2]
    assert histogram.sum == 107.5


def test_readers_are_called_at_each_scrape() -> None:
    meters, count = Meters(), [0]

    def acls() -> int:
        count[0] += 1
        return count[0]

    meters.read(table.ACLS, acls)
    meters.read(table.CONNECTIONS, lambda: {("PLAINTEXT",): 3, ("SSL",): 0})
    meters.read(table.NODES, lambda: None)

    assert samples(meters, table.ACLS) == {(): 1}
    assert samples(meters, table.ACLS) == {(): 2}
    assert samples(meters, table.CONNECTIONS) == {("PLAINTEXT",): 3, ("SSL",): 0}
    assert samples(meters, table.NODES) == {}


@pytest.mark.parametrize("broken", [RuntimeError("no"), {("a", "b"): 1}, "text"])
def test_failing_reader_affects_only_its_metric(broken: object) -> None:
    meters = Meters()

    def read() -> float:
        if isinstance(broken, Exception):
            raise broken
        return broken  # type: ignore[return-value]

    meters.read(table.CONNECTIONS, read)
    meters.read(table.ACLS, lambda: 7)

    assert samples(meters, table.CONNECTIONS) == {}
    assert samples(meters, table.ACLS) == {(): 7}
    # One for each of the two scrapes.
    assert samples(meters, table.METRIC_FAULTS) == {(): 3}
