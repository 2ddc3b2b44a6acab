"""The table of metrics."""

from __future__ import annotations

import re

from doorkeeper.metrics.table import METRICS, MetricKind
from testkit import metrics_page


def test_names_are_unique_and_say_their_type() -> None:
    """Each metric has a name of its own; counters alone end in _total; ours begin with ours."""
    names = [metric.name for metric in METRICS]

    assert len(names) == len(set(names))
    for metric in METRICS:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER), metric.name
        assert metric.name.startswith("doorkeeper_") != metric.foreign, metric.name


def test_histograms_alone_have_buckets() -> None:
    """Their bounds ascend, and the name says the unit."""
    for metric in METRICS:
        assert bool(metric.buckets) == (metric.kind is MetricKind.HISTOGRAM), metric.name
        assert list(metric.buckets) == sorted(set(metric.buckets))
        if metric.kind is MetricKind.HISTOGRAM:
            assert metric.name.endswith("_seconds")


def test_every_metric_is_explained() -> None:
    """A text of ours is a sentence."""
    assert [metric.name for metric in METRICS if not metric.doc] == []
    assert [each.name for each in METRICS if not each.foreign and not each.doc.endswith(".")] == []


def test_no_label_is_chosen_by_clients() -> None:
    """Labels are of a short list, so that nobody outside can make a series."""
    allowed = {
        # Of the file of clusters.
        *("cluster", "kind"),
        *("api", "check", "direction", "error", "generation", "listener", "mechanism"),
        *("operation", "python", "reason", "result", "version"),
    }

    assert {label for metric in METRICS for label in metric.labels} == allowed


def test_kip_504_has_its_names() -> None:
    """The purgatory and the times of an update stand beside Kafka's names for them."""
    beside = {metric.name: metric.kafka for metric in METRICS}

    assert (
        "name=NumDelayedOperations,delayedOperation=AlterAcls"
        in (beside["doorkeeper_delayed_operations"])
    )
    assert "name=PurgatorySize,delayedOperation=AlterAcls" in beside["doorkeeper_purgatory_size"]
    for name, kafka in (
        ("doorkeeper_request_seconds", "TotalTimeMs"),
        ("doorkeeper_request_local_seconds", "LocalTimeMs"),
        ("doorkeeper_request_remote_seconds", "RemoteTimeMs"),
    ):
        assert f"name={kafka}," in beside[name]


def test_the_page_of_metrics_is_current() -> None:
    """docs/reference/metrics.md is what the table gives."""
    assert metrics_page.PAGE.read_text(encoding="utf-8") == metrics_page.page()
