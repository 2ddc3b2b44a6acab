"""Addresses of topics."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.topics.addresses import TopicAddress, parse_topic


@pytest.mark.parametrize(
    ("text", "servers", "topic"),
    [
        ("kafka://b:9092/audit", "b:9092", "audit"),
        ("kafka://b1:9092,b2:9093/a.b-c_d", "b1:9092,b2:9093", "a.b-c_d"),
        ("kafka://[::1]:9092/t", "[::1]:9092", "t"),
    ],
)
def test_topic_addresses(text: str, servers: str, topic: str) -> None:
    assert parse_topic(text) == TopicAddress(servers, topic)
    assert str(parse_topic(text)) == text


@pytest.mark.parametrize("text", ["kafka://b/t", "kafka://b:9092/", "kafka://b:9092/t/u"])
def test_invalid_addresses_are_rejected(text: str) -> None:
    with pytest.raises(PipelineError, match=r"kafka://HOST:PORT,\.\.\./TOPIC"):
        parse_topic(text)
