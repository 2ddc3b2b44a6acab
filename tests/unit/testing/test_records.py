"""Records in test servers: the denied producer, refusals, revocation, faults of the data path."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, TopicAuthorizationFailedError

from doorkeeper.testing import DoorkeeperServer, denials

if TYPE_CHECKING:
    from collections.abc import Iterator

SVC = "User:svc"
READ = {"resourceType": "TOPIC", "name": "orders", "principal": SVC, "operation": "READ"}
WRITE = {**READ, "operation": "WRITE"}
GROUP = {**READ, "resourceType": "GROUP", "name": "readers"}
PART = TopicPartition("orders", 0)


@pytest.fixture
def server() -> Iterator[DoorkeeperServer]:
    options: Any = {"users": {"svc": "secret"}, "topics": ["orders"], "records": True}
    with DoorkeeperServer(**options) as running:
        yield running


def producer(server: DoorkeeperServer, user: str = "svc") -> KafkaProducer:
    settings = server.client_config(user).kafka_python()
    return KafkaProducer(**settings, enable_idempotence=False, max_block_ms=10_000)


def consumer(server: DoorkeeperServer, **options: Any) -> KafkaConsumer:
    settings = server.client_config("svc").kafka_python()
    return KafkaConsumer(**settings, auto_offset_reset="earliest", **options)


def produce(server: DoorkeeperServer, *values: bytes, user: str = "admin") -> None:
    with closing(producer(server, user)) as client:
        for value in values:
            client.send("orders", value).get(10)


def produce_without_write(server: DoorkeeperServer) -> None:
    server.add_acls([{**READ, "operation": "DESCRIBE"}])
    with pytest.raises(TopicAuthorizationFailedError):
        produce(server, b"a", user="svc")


def produce_idempotently(server: DoorkeeperServer) -> None:
    with closing(KafkaProducer(**server.client_config("svc").kafka_python())) as client:
        client.send("orders", b"a").get(10)


def poll_often(client: KafkaConsumer) -> None:
    for _ in range(100):
        client.poll(timeout_ms=500)


def test_producer_without_write_is_denied(server: DoorkeeperServer) -> None:
    server.add_acls([{**READ, "operation": "DESCRIBE"}])

    with (
        server.expect_denied(SVC, "WRITE", topic="orders") as found,
        pytest.raises(TopicAuthorizationFailedError),
    ):
        produce(server, b"a", user="svc")

    assert found[0].api == "Produce"
    assert repr(found[0]).startswith("<User:svc was denied WRITE on TOPIC orders in Produce")
    assert "no ACL allows it" in repr(found[0])
    assert server.denied(SVC) == found
    assert server.denied("User:admin") == []


def test_missing_denial_fails_the_test(server: DoorkeeperServer) -> None:
    with (
        pytest.raises(
            AssertionError, match=r"User:svc READ on TOPIC 'orders' to be denied.*\n.*WRITE"
        ),
        server.expect_denied(SVC, "READ", topic="orders"),
    ):
        produce_without_write(server)

    with pytest.raises(AssertionError, match="denied requests: nothing"), server.expect_denied(SVC):
        pass


def test_denial_is_noticed_after_many_others(
    server: DoorkeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that tries again all day: older refusals are dropped within the block."""
    monkeypatch.setattr(denials, "KEPT", 1)
    produce_without_write(server)
    produce_without_write(server)

    with server.expect_denied(SVC, "WRITE", topic="orders") as found:
        produce_without_write(server)

    assert found == server.denied(SVC)[-1:]


def test_exception_in_the_block_is_matched(server: DoorkeeperServer) -> None:
    with (
        pytest.raises(KafkaError) as raised,
        server.expect_denied(SVC, "WRITE", topic="orders"),
    ):
        produce_idempotently(server)

    assert "denied WRITE on any TOPIC in InitProducerId" in "".join(raised.value.__notes__)


def test_records_are_produced_and_consumed_in_a_group(server: DoorkeeperServer) -> None:
    """With WRITE and READ; committed offsets stay with the group."""
    server.add_acls([WRITE, READ, GROUP])
    produce(server, b"a", b"b", user="svc")

    for expected in (b"a", b"b"):
        options: Any = {"group_id": "readers", "max_poll_records": 1, "enable_auto_commit": False}
        with closing(consumer(server, **options)) as client:
            client.subscribe(["orders"])
            assert next(client).value == expected
            client.commit()

    assert server.denied() == []


def test_permission_is_revoked_while_consuming(server: DoorkeeperServer) -> None:
    server.add_acls([READ])
    produce(server, b"a")
    with closing(consumer(server, fetch_max_wait_ms=100)) as client:
        client.assign([PART])
        assert next(client).value == b"a"

        server.remove_acls([READ])

        produce(server, b"b")
        with (
            server.expect_denied(SVC, topic="orders"),
            pytest.raises(TopicAuthorizationFailedError),
        ):
            poll_often(client)


@pytest.mark.parametrize("api", ["Produce", "JoinGroup"])
def test_faults_apply_to_the_data_path(server: DoorkeeperServer, api: str) -> None:
    retriable = {"JoinGroup": "COORDINATOR_NOT_AVAILABLE"}
    server.add_acls([WRITE, READ, GROUP])

    with server.faults.error(api, retriable.get(api, "NOT_LEADER_OR_FOLLOWER"), times=1) as fault:
        produce(server, b"a", user="svc")
        options: Any = {"group_id": "readers", "enable_auto_commit": False}
        with closing(consumer(server, **options)) as client:
            client.subscribe(["orders"])
            assert next(client).value == b"a"
            client.commit()

    assert fault.struck == 1
