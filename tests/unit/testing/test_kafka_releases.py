"""Servers that clients take for an older release of Kafka."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from doorkeeper.server.config.kafka_versions import releases
from doorkeeper.testing import DoorkeeperProcess, DoorkeeperServer
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from doorkeeper_wire.messages.fetch import FetchRequest, FetchResponse
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataResponse
from testkit.frames import Closed, FrameClient

FETCH, METADATA, HEARTBEAT = 1, 3, 68
Ranges = dict[int, tuple[int, int]]


def versions(address: str, version: int = 3) -> ApiVersionsResponse:
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    with FrameClient(address) as client:
        answer: ApiVersionsResponse = client.ask(request, ApiVersionsResponse, version)
    return answer


def ranges(answer: ApiVersionsResponse) -> Ranges:
    return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}


@pytest.mark.parametrize("release", ["2.0", "2.8", "3.3", "3.9", "4.0", "4.3", "4.4"])
def test_listed_apis_match_the_release(release: str) -> None:
    listed = releases()[release].apis
    with DoorkeeperServer(kafka=release, records=True) as server:
        answer = versions(server.bootstrap_servers, 2)
    with DoorkeeperServer(records=True) as server:
        served = ranges(versions(server.bootstrap_servers, 2))

    assert ranges(answer) == {
        key: (max(low, listed[str(key)][0]), min(high, listed[str(key)][1]))
        for key, (low, high) in served.items()
        if str(key) in listed and low <= listed[str(key)][1]
    }


@pytest.mark.parametrize("server_class", [DoorkeeperServer, DoorkeeperProcess])
def test_listed_versions_are_served(server_class: Any) -> None:
    with server_class(kafka="2.8", records=True) as server, FrameClient(server.address()) as client:
        served = client.ask(MetadataRequest(), MetadataResponse, 11)
        closed = client.ask(MetadataRequest(), MetadataResponse, 12)
        answer = versions(server.address(), 0)
        with FrameClient(server.address()) as other:
            refused = other.exchange(18, 4, ApiVersionsRequest().encode(4))

    assert not isinstance(served, Closed)
    assert isinstance(closed, Closed)
    assert HEARTBEAT not in ranges(answer)
    # Its header is that of version 0; error 35, one row: ApiVersions from 0 to 3.
    assert refused[4:] == bytes.fromhex("0023 00000001 0012 0000 0003")


def test_unserved_api_has_the_versions_of_the_release() -> None:
    """Without records Fetch has 35 as ever, but no version that the release does not have."""
    with DoorkeeperServer(kafka="2.8") as server, FrameClient(server.address()) as client:
        refused = client.ask(FetchRequest(), FetchResponse, 12)
        closed = client.ask(FetchRequest(), FetchResponse, 13)

    assert refused.error_code == 35
    assert isinstance(closed, Closed)


@pytest.mark.parametrize(
    ("kafka", "levels"),
    [
        ("2.8", {}),
        ("3.9", {"metadata.version": 21}),
        ("4.3", {"metadata.version": 30, "transaction.version": 2}),
        ("", {"metadata.version": 33, "transaction.version": 2}),
        ("Fetch=11", {"metadata.version": 33, "transaction.version": 2}),
    ],
)
def test_features_follow_the_release(kafka: str, levels: dict[str, int]) -> None:
    with DoorkeeperServer(kafka=kafka, records=True) as server:
        answer = versions(server.bootstrap_servers)

    assert {row.name: row.max_version_level for row in answer.finalized_features} == levels


@pytest.mark.parametrize("kafka", ["2.1", "2.8", "3.9", "4.0"])
def test_records_work_with_the_versions_of_a_release(kafka: str) -> None:
    """A producer, idempotent or not, and a consumer with its group."""
    with DoorkeeperServer(kafka=kafka, records=True, topics=["orders"]) as server:
        settings = server.client_config().kafka_python()
        for idempotent in (False, True):
            with closing(KafkaProducer(**settings, enable_idempotence=idempotent)) as producer:
                producer.send("orders", b"an order").get(30)
        options: Any = {"group_id": "readers", "auto_offset_reset": "earliest"}
        with closing(KafkaConsumer("orders", **settings, **options)) as consumer:
            values = [next(consumer).value, next(consumer).value]
            consumer.commit()
            committed = consumer.committed(TopicPartition("orders", 0))

    assert values == [b"an order"] * 2
    assert committed == 2


@pytest.mark.parametrize(
    ("kafka", "error"),
    [
        ("2.9", r"kafka: found '2\.9'; allowed: a Kafka release \(2\.0, .*4\.4\)"),
        ("2.8,Fetsch=1", "kafka: found 'Fetsch=1'; allowed"),
        (2.8, 'kafka: found 2.8; expected: a string such as "2.8"'),
    ],
)
def test_other_values_are_rejected(kafka: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        DoorkeeperServer(kafka=kafka)


@pytest.mark.parametrize(("kafka", "stores"), [("2.8", False), ("4.3", False), ("4.4", True)])
def test_acl_rules_follow_the_release(kafka: str, stores: bool) -> None:
    """Networks came with 4.4: before, a host with a slash is a text that no address equals."""
    acl = {
        "resourceType": "TOPIC",
        "name": "t",
        "principal": "User:a",
        "operation": "READ",
        "host": "10.0.0.0/8",
    }
    with DoorkeeperServer(kafka=kafka, acls=[acl]) as server:
        answer = server.allows("User:a", "READ", topic="t", host="10.1.2.3")

    assert bool(answer) is stores
