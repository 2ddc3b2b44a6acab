"""kafka-python fails on one ACL that it cannot read."""

from collections.abc import Callable, Iterator

import pytest

from testkit.clients import CLIENTS, Client
from testkit.kafka_acl_rows import ANY
from testkit.kafka_target import Target, doorkeeper_target
from testkit.kafka_tools import KafkaTools
from testkit.or_skip import or_skip

KAFKA_PYTHON = [client for client in CLIENTS if client.name.startswith("kafka-python")]


@pytest.fixture(scope="module")
def server(kafka_tools: Callable[[str], KafkaTools]) -> Iterator[Target]:
    """Give a Doorkeeper with an ACL for TWO_PHASE_COMMIT."""
    target = doorkeeper_target()
    on = ("--bootstrap-server", target.plain, "--add", "--allow-principal", "User:bob")
    tools = kafka_tools("4.3.1")
    try:
        for words in (
            ("--operation", "Read", "--topic", "orders"),
            ("--operation", "TwoPhaseCommit", "--transactional-id", "t"),
        ):
            assert tools.run("kafka-acls", *on, *words).status == 0
        yield target
    finally:
        target.close()


@pytest.mark.parametrize("client", KAFKA_PYTHON, ids=lambda client: client.name)
def test_describe_fails_as_with_a_broker(client: Client, server: Target) -> None:
    (result,) = or_skip(lambda: client.talk(server.plain, ("describe_acls", {"wanted": ANY})))

    assert "15 is not a valid ACLOperation" in result["text"]
