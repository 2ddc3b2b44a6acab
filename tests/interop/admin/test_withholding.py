"""kafka-python fails on one ACL that it cannot read, unless that is withheld from it."""

from collections.abc import Callable, Iterator

import pytest

from testkit.clients import CLIENTS, Client
from testkit.kafka_acl_rows import ANY
from testkit.kafka_target import Target, doorkeeper_target
from testkit.kafka_tools import KafkaTools
from testkit.or_skip import or_skip

READABLE = ["TOPIC", "orders", "LITERAL", "User:bob", "*", "READ", "ALLOW"]

KAFKA_PYTHON = [client for client in CLIENTS if client.name.startswith("kafka-python")]


@pytest.fixture(scope="module", params=["", "kafka-python=7/14,unnamed=6/12"])
def server(
    request: pytest.FixtureRequest, kafka_tools: Callable[[str], KafkaTools]
) -> Iterator[Target]:
    """Give a Doorkeeper with an ACL for TWO_PHASE_COMMIT, with and without the option."""
    target = doorkeeper_target(doorkeeper_clients_withhold=request.param)
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
def test_describe(client: Client, server: Target, request: pytest.FixtureRequest) -> None:
    """With the option it sees all that it can read; without, an error and nothing else."""
    withheld = bool(request.node.callspec.params["server"])
    (result,) = or_skip(lambda: client.talk(server.plain, ("describe_acls", {"wanted": ANY})))

    if withheld:
        assert result == {"value": [READABLE]}
        assert "ACLs are withheld that the client cannot read" in server.server.log.read_text()
    else:
        assert "15 is not a valid ACLOperation" in result["text"]
