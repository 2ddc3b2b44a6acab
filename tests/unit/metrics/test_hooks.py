"""What other parts tell."""

from __future__ import annotations

from doorkeeper.metrics import table
from doorkeeper.metrics.hooks import AuditMeter, ReloadMeter
from doorkeeper.metrics.series import Meters


def value_of(meters: Meters, metric: table.Metric, *labels: str) -> float:
    return meters.counter(metric, *labels).value


def test_the_trail_tells_its_events() -> None:
    """Written, dropped where the queue was full, lost where the file could not be written."""
    meters = Meters()
    meter = AuditMeter(meters)

    meter.record_written(10)
    meter.record_dropped()
    meter.record_dropped(2)
    meter.record_lost(4)
    meter.record_sync(0.1)
    meter.queue(lambda: 17)

    assert value_of(meters, table.AUDIT_WRITTEN) == 10
    assert value_of(meters, table.AUDIT_DROPPED, "queue full") == 3
    assert value_of(meters, table.AUDIT_DROPPED, "not written") == 4
    assert meters.histogram(table.AUDIT_SYNC_SECONDS).count == 1
    queued = next(each for each in meters.families() if each.metric is table.AUDIT_QUEUED)
    assert queued.values == {(): 17}


def test_reloads_tell_how_the_last_one_went() -> None:
    """Before the first one all is well; a refused one is seen until one is applied."""
    meters = Meters()
    meter = ReloadMeter(meters)
    seen = [value_of(meters, table.LAST_RELOAD)]

    for applied in (True, False, False, True):
        meter.record_reload(applied=applied)
        seen.append(value_of(meters, table.LAST_RELOAD))

    assert seen == [1, 1, 0, 0, 1]
    assert value_of(meters, table.RELOADS, "applied") == 2
    assert value_of(meters, table.RELOADS, "refused") == 2
