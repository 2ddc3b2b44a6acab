"""The server.properties of a real KRaft broker starts the server as it is."""

from __future__ import annotations

import json

from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port


def test_a_brokers_file_starts_the_server() -> None:
    """One warning lists the keys that have no effect; nothing else is complained about."""
    clients, controller = free_port(), free_port()
    server = DoorkeeperServer(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@localhost:{controller}",
            "listeners": f"PLAINTEXT://localhost:{clients},CONTROLLER://localhost:{controller}",
            "advertised.listeners": f"PLAINTEXT://localhost:{clients}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": (
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": "/var/lib/kafka",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "group.initial.rebalance.delay.ms": "0",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:admin",
        },
        ports=(clients, controller),
    )
    try:
        server.start()
        assert server.stop() == 0
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    finally:
        server.close()

    warning = (
        "keys of Kafka that have no effect here: process.roles, controller.quorum.voters, log.dirs,"
        " offsets.topic.replication.factor, transaction.state.log.replication.factor,"
        " group.initial.rebalance.delay.ms"
    )
    assert [line["event"] for line in lines if line["level"] in ("WARN", "ERROR")] == [warning]
