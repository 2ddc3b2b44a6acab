"""Requests, counted."""

from __future__ import annotations

import pytest

from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.meters import RequestMeter, Waited, api_name, error_name
from doorkeeper.server.runtime.metrics.series import Histogram, Meters


def test_requests_are_counted_by_api_and_error() -> None:
    """Each pair is a series; the latency has the API alone."""
    meters = Meters()
    meter = RequestMeter(meters)

    meter.record_answers([(29, 0), (29, 0)], 0.0015)
    meter.record_answers([(29, 31)], 0.003)

    assert meters.counter(table.REQUESTS, "DescribeAcls", "none").value == 2
    refused = meters.counter(table.REQUESTS, "DescribeAcls", "CLUSTER_AUTHORIZATION_FAILED")
    assert refused.value == 1
    latency = meters.histogram(table.REQUEST_SECONDS, "DescribeAcls")
    assert sum(latency.counts) == 3
    assert round(latency.sum, 6) == 0.006


def test_unknown_codes_are_one_series() -> None:
    assert error_name(0) == "none"
    assert error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert error_name(12345) == error_name(54321) == "other"
    assert api_name(30) == "CreateAcls"
    assert api_name(9999) == "other"


def test_requests_that_waited_have_local_and_remote_time() -> None:
    """Of any API, the abandoned ones included; requests that did not wait are in the total only."""
    meters = Meters()
    meter = RequestMeter(meters)

    meter.record_answers([(30, 0)], 2.25, Waited(0.125, 2.0))
    meter.record_answers([(30, 31)], 0.5)
    meter.record_wait(30, Waited(0.25, 4.0))

    local = meters.histogram(table.LOCAL_SECONDS, "CreateAcls")
    remote = meters.histogram(table.REMOTE_SECONDS, "CreateAcls")
    total = meters.histogram(table.REQUEST_SECONDS, "CreateAcls")
    assert (sum(local.counts), local.sum) == (2, 0.375)
    assert (sum(remote.counts), remote.sum) == (2, 6.0)
    assert (sum(total.counts), total.sum) == (2, 2.75)


def test_requests_that_never_wait_have_only_a_total_time() -> None:
    meters = Meters()
    meter = RequestMeter(meters)

    meter.record_answers([(29, 0)], 1.0)

    names = {sample.name for metric in meters.collect() for sample in metric.samples}
    assert "doorkeeper_request_seconds_count" in names
    assert not [name for name in names if "local" in name or "remote" in name]


def test_fast_path_matches_observe() -> None:
    """The short way of the path of every request counts as ``observe`` does."""
    meters, values = Meters(), (0.0, 0.000_05, 0.000_06, 0.25, 9.0, 10.0, 11.0)
    meter, expected = RequestMeter(meters), Histogram(table.REQUEST_SECONDS.buckets)

    for value in values:
        meter.record_answers([(29, 0)], value)
        expected.observe(value)
    for value in values:
        meter.record_answers([(29, 0)] * 3, value)
        meter.record_answers([(29, 0), (29, 31), (29, 0)], value)
        for _ in range(6):
            expected.observe(value)

    found = meters.histogram(table.REQUEST_SECONDS, "DescribeAcls")
    assert found.counts == expected.counts
    assert found.sum == pytest.approx(expected.sum)
    assert meters.counter(table.REQUESTS, "DescribeAcls", "none").value == 6 * len(values)
