"""The server.properties of a real KRaft broker starts the server as it is."""

from __future__ import annotations

import json
import ssl
from functools import partial
from typing import TYPE_CHECKING

from testkit import sasl_doors
from testkit.certificates import PASSWORD, world
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.scram_conversations import play, right
from testkit.serving import Conversation

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("CLIENTS", "SECURE", "INTERNAL", "CONTROLLER")


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


def with_every_door(ports: dict[str, int], keys: Path, trusted: Path) -> dict[str, str]:
    """Return a broker's properties with SASL and SSL listeners."""
    jaas = "org.apache.kafka.common.security"
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@localhost:{ports['CONTROLLER']}",
        "listeners": ",".join(f"{name}://localhost:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://localhost:{ports[name]}" for name in NAMES[:3]),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": (
            "CLIENTS:SASL_SSL,SECURE:SSL,INTERNAL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "inter.broker.listener.name": "INTERNAL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.internal.sasl.enabled.mechanisms": "PLAIN",
        **{
            f"listener.name.{name}.plain.sasl.jaas.config": (
                f'{jaas}.plain.PlainLoginModule required username="admin"'
                ' password="admin-secret" user_admin="admin-secret" user_alice="a-secret";'
            )
            for name in ("clients", "internal")
        },
        **{
            f"listener.name.clients.scram-sha-{bits}.sasl.jaas.config": (
                f'{jaas}.scram.ScramLoginModule required username="admin" password="admin-secret";'
            )
            for bits in (256, 512)
        },
        "sasl.login.refresh.window.factor": "0.8",
        "ssl.keystore.location": str(keys),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.location": str(trusted),
        "ssl.truststore.type": "PEM",
        "listener.name.secure.ssl.client.auth": "required",
        "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
        "ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/,DEFAULT",
        "ssl.endpoint.identification.algorithm": "https",
        "log.dirs": "/var/lib/kafka",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
    }


def test_a_brokers_file_with_every_door_starts_the_server(tmp_path: Path) -> None:
    """SASL and SSL keys as in Kafka's own pages: key and trust stores, users of PLAIN and of SCRAM.

    What a broker needs for its own connections to others (its own user, its login) has no effect
    here and is accepted.
    """
    ports = {name: free_port() for name in NAMES}
    keys, trusted = tmp_path / "server.keystore.p12", tmp_path / "server.truststore.pem"
    keys.write_bytes(world().server.pkcs12())
    trusted.write_text(world().authority.pem)
    server = DoorkeeperServer(with_every_door(ports, keys, trusted), ports=tuple(ports.values()))
    context = ssl.create_default_context(cadata=world().authority.pem)
    try:
        server.start()
        for name in ("CLIENTS", "SECURE"):
            with Conversation(ports[name]) as client:
                # Without a certificate SECURE refuses, but only after its own was shown.
                secure = context.wrap_socket(client.socket, server_hostname="localhost")
                assert secure.version() == "TLSv1.3"
                client.socket = secure
        assert server.stop() == 0
        text = server.log.read_text()
    finally:
        server.close()

    lines = [json.loads(line) for line in text.splitlines()]
    (warning,) = [line["event"] for line in lines if line["level"] in ("WARN", "ERROR")]
    assert warning.startswith("keys of Kafka that have no effect here: process.roles, ")
    assert "sasl.login.refresh.window.factor" in warning
    assert "secret" not in text
    assert PASSWORD not in text


def test_a_brokers_file_with_every_door(tmp_path: Path) -> None:
    """Several mechanisms, TLS and a client's keys: users log in, one warning lists the rest."""
    doors = sasl_doors.doorkeeper(tmp_path)
    try:
        doors.make_users()
        script = partial(right, mechanism="SCRAM-SHA-512", name="alice")
        for listener in ("SASL", "SECURE", "TIMED"):
            assert len(play(script, doors.connect(listener), is_bare=False)) == 5
        assert isinstance(doors.server, DoorkeeperServer)
        assert doors.server.stop() == 0
        lines = [json.loads(line) for line in doors.server.log.read_text().splitlines()]
    finally:
        doors.close()

    warning = (
        "keys of Kafka that have no effect here: process.roles, controller.quorum.voters,"
        " sasl.mechanism.inter.broker.protocol, sasl.mechanism.controller.protocol,"
        " sasl.login.refresh.window.factor, ssl.endpoint.identification.algorithm,"
        " ssl.secure.random.implementation, offsets.topic.replication.factor"
    )
    assert [line["event"] for line in lines if line["level"] in ("WARN", "ERROR")] == [warning]
