"""Requests, counted."""

from __future__ import annotations

from doorkeeper.metrics import table
from doorkeeper.metrics.requests import RequestMeter, api_name, error_name
from doorkeeper.metrics.series import Meters


def test_requests_are_counted_by_api_and_error() -> None:
    """Each pair is a series; the latency has the API alone."""
    meters = Meters()
    meter = RequestMeter(meters)

    meter.answered((29, 0), 0.001)
    meter.answered((29, 0), 0.002)
    meter.answered((29, 31), 0.003)

    assert meters.counter(table.REQUESTS, "DescribeAcls", "none").value == 2
    refused = meters.counter(table.REQUESTS, "DescribeAcls", "CLUSTER_AUTHORIZATION_FAILED")
    assert refused.value == 1
    latency = meters.histogram(table.REQUEST_SECONDS, "DescribeAcls")
    assert latency.count == 3
    assert round(latency.sum, 6) == 0.006


def test_codes_of_others_are_one_series() -> None:
    """A plug-in's own codes make no series each."""
    assert error_name(0) == "none"
    assert error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert error_name(12345) == error_name(54321) == "other"
    assert api_name(30) == "CreateAcls"
    assert api_name(9999) == "other"


def test_changes_have_two_times() -> None:
    """Local and remote time are observed together, so that they are of the same requests."""
    meters = Meters()

    RequestMeter(meters).changed(30, 0.001, 2.0)

    assert meters.histogram(table.LOCAL_SECONDS, "CreateAcls").sum == 0.001
    assert meters.histogram(table.REMOTE_SECONDS, "CreateAcls").sum == 2.0


def test_what_had_no_room_and_no_time_is_counted() -> None:
    """Refused updates, and items by the operation that they belong to."""
    meters = Meters()
    meter = RequestMeter(meters)

    meter.refused()
    meter.timed_out("acl-update", 3)
    meter.timed_out("acl-update", 2)

    assert meters.counter(table.UPDATES_REFUSED).value == 1
    assert meters.counter(table.ITEMS_TIMED_OUT, "acl-update").value == 5
