"""The numbers as Prometheus reads them."""

from __future__ import annotations

import pytest

from doorkeeper.server.operations.http.exposition import Exposition
from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.series import Meters
from testkit.http_port import reply_of

OK = b"HTTP/1.1 200 OK\r\n\r\n"


async def test_metrics_are_exposed() -> None:
    meters = Meters()
    meters.counter(table.REQUESTS, "Metadata", "none").add(3)
    meters.read(table.CONNECTIONS, lambda: {('odd "name"\n',): 2})
    histogram = meters.histogram(table.REQUEST_SECONDS, "Metadata")
    histogram.observe(0.0002)
    histogram.observe(60.0)

    text, _ = await Exposition(meters).text("text/plain")

    reply = reply_of(OK + text)
    assert reply.value("doorkeeper_requests_total", api="Metadata", error="none") == 3
    assert reply.value("doorkeeper_connections", listener='odd "name"\n') == 2
    bucket = "doorkeeper_request_seconds_bucket"
    assert reply.value(bucket, api="Metadata", le="0.0001") == 0
    assert reply.value(bucket, api="Metadata", le="0.00025") == 1
    assert reply.value(bucket, api="Metadata", le="10.0") == 1
    assert reply.value(bucket, api="Metadata", le="+Inf") == 2
    assert reply.value("doorkeeper_request_seconds_count", api="Metadata") == 2
    assert reply.value("doorkeeper_request_seconds_sum", api="Metadata") == 60.0002


@pytest.mark.parametrize("kind", ["application/openmetrics-text", "text/plain"])
@pytest.mark.parametrize("version", ["abc", "9" * 5000, "1.0.0.\udcff"])
async def test_unsupported_formats_fall_back(kind: str, version: str) -> None:
    text, content_type = await Exposition(Meters()).text(f"{kind}; version={version}")

    assert text.startswith(b"# HELP doorkeeper_requests")
    assert content_type.isascii()
