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
def test_addresses(text: str, servers: str, topic: str) -> None:
    """Servers and a topic; the text is the same again."""
    assert parse_topic(text) == TopicAddress(servers, topic)
    assert str(parse_topic(text)) == text


@pytest.mark.parametrize("text", ["kafka://b/t", "kafka://b:9092/", "kafka://b:9092/t/u"])
def test_others(text: str) -> None:
    """Anything else is refused with the form that is expected."""
    with pytest.raises(PipelineError, match=r"kafka://HOST:PORT,\.\.\./TOPIC"):
        parse_topic(text)
