"""Servers with SASL in clear and behind TLS, several mechanisms on each listener.

SASL      SASL_PLAINTEXT: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
SECURE    SASL_SSL: the same
TIMED     SASL_PLAINTEXT: the same, sessions of an hour, so that clients may log in again
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from testkit.certificates import PASSWORD, world
from testkit.conversations import ANSWER_S
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.frames import FrameClient
from testkit.kafka_broker import KafkaBroker, free_port, jaas
from testkit.kafka_jars import broker_jars
from testkit.kafka_target import RELEASES, STANDARD, USERS
from testkit.scram import salted_password

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "SASL": "SASL_PLAINTEXT",
    "SECURE": "SASL_SSL",
    "TIMED": "SASL_PLAINTEXT",
    "CONTROLLER": "PLAINTEXT",
}
MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
SCRAM_USERS = {"alice": "alice-secret", "bob": "bob-secret", "a,b=c": "odd secret"}
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
SALT = b"a salt of the client"


class SaslDoors(NamedTuple):
    """One server and the ports of its listeners."""

    server: DoorkeeperServer | KafkaBroker
    ports: Mapping[str, int]

    def connect(self, listener: str) -> socket.socket:
        """Connect, through TLS where the listener speaks it."""
        plain = socket.create_connection(("localhost", self.ports[listener]), timeout=ANSWER_S)
        if not PROTOCOLS[listener].endswith("SSL"):
            return plain
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=world().authority.pem)
        return context.wrap_socket(plain, server_hostname="localhost")

    def make_users(self) -> None:
        """Make the credentials of all users, one mechanism after the other."""
        for mechanism, code in MECHANISMS.items():
            made = tuple(
                ScramCredentialUpsertion(
                    name=name,
                    mechanism=code,
                    iterations=4096,
                    salt=SALT,
                    salted_password=salted_password(mechanism, password, SALT),
                )
                for name, password in SCRAM_USERS.items()
            )
            with FrameClient(f"localhost:{self.ports['PLAINTEXT']}") as admin:
                answer: Any = admin.ask(
                    AlterUserScramCredentialsRequest(upsertions=made),
                    AlterUserScramCredentialsResponse,
                    0,
                )
            assert {row.error_code for row in answer.results} == {0}
        # A broker uses a moment later what it has acknowledged.
        time.sleep(0.0 if isinstance(self.server, DoorkeeperServer) else 2.0)

    def close(self) -> None:
        """Stop the server."""
        if isinstance(self.server, DoorkeeperServer):
            self.server.close()
        else:
            self.server.stop()


def properties(folder: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """Return a file that starts a broker as it starts us; the stores are files in the folder."""
    (folder / "server.p12").write_bytes(world().server.pkcs12())
    (folder / "trusted.pem").write_text(world().authority.pem)
    clients = [name for name in PROTOCOLS if name != "CONTROLLER"]
    keys = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@localhost:{ports['CONTROLLER']}",
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(f"{name}://localhost:{ports[name]}" for name in PROTOCOLS),
        "advertised.listeners": ",".join(f"{name}://localhost:{ports[name]}" for name in clients),
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in PROTOCOLS.items()),
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.kerberos.service.name": "kafka",
        "sasl.login.refresh.window.factor": "0.8",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(folder / "server.p12"),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "trusted.pem"),
        "ssl.client.auth": "none",
        "ssl.endpoint.identification.algorithm": "",
        "ssl.secure.random.implementation": "SHA1PRNG",
        "authorizer.class.name": STANDARD,
        "super.users": "User:ANONYMOUS;User:admin",
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": "1",
        "listener.name.timed.connections.max.reauth.ms": "3600000",
    }
    for listener in ("sasl", "secure", "timed"):
        prefix = f"listener.name.{listener}"
        keys[f"{prefix}.plain.sasl.jaas.config"] = jaas(USERS)
        for mechanism in MECHANISMS:
            keys[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = SCRAM_MODULE
    return keys


def doorkeeper(folder: Path, version: str = "4.3.1") -> SaslDoors:
    """Start a Doorkeeper with the file of a broker of a release, and its rules."""
    ports = {name: free_port() for name in PROTOCOLS}
    keys = {**properties(folder, ports), "doorkeeper.kafka.release": RELEASES[version]}
    server = DoorkeeperServer(keys, ports=tuple(ports.values()))
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    return SaslDoors(server, ports)


def broker(folder: Path, version: str) -> SaslDoors:
    """Start a real broker.

    Raises:
        Unavailable: there is no Kafka on this machine.
    """
    ports = {name: free_port() for name in PROTOCOLS}
    server = KafkaBroker(broker_jars(version), users=USERS, overrides=properties(folder, ports))
    server.plain_port, server.sasl_port = ports["PLAINTEXT"], ports["SASL"]
    try:
        server.start()
    except BaseException:
        server.stop()
        raise
    return SaslDoors(server, ports)
