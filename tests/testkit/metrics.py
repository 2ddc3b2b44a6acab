"""The values of metrics at one time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorkeeper.server.runtime.metrics.series import Labels, Meters
    from doorkeeper.server.runtime.metrics.table import Metric


def samples(meters: Meters, metric: Metric) -> dict[Labels, float]:
    """Return the values of a counter or gauge by its label values."""
    (exposed,) = (
        exposed
        for exposed in meters.collect()
        if exposed.name == metric.name.removesuffix("_total")
    )
    return {
        tuple(sample.labels[label] for label in metric.labels): sample.value
        for sample in exposed.samples
    }
