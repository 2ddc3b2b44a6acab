"""The server under test: Doorkeeper, or the real broker whose behaviour the expectations copy.

Both have the same three listeners: PLAINTEXT (User:ANONYMOUS, a super user), SASL (PLAIN, users
below) and CONTROLLER. The environment variable DOORKEEPER_INTEROP_TARGET=kafka lets every suite
run against Kafka instead, which is how its expectations were found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doorkeeper.acls.entities.model import TopicEntity
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import (
    KafkaBroker,
    authorizer_log_options,
    free_port,
    jaas,
    listeners,
)
from testkit.kafka_jars import broker_jars, logging_by_log4j

USERS: Mapping[str, str] = {
    "admin": "admin-secret",
    "alice": "alice-secret",
    "bob": "bob-secret",
}
"""``admin`` is a super user; the others have what a test gives them."""

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@dataclass(kw_only=True)
class Target:
    """One running server and how to reach it."""

    name: str
    server: KafkaBroker | DoorkeeperServer
    plain: str
    sasl: str
    controller: str
    made: dict[str, Any] = field(default_factory=dict)

    @property
    def is_kafka(self) -> bool:
        """Whether this is a real broker, which shows its changes a little later."""
        return self.name == "kafka"

    def config(self, user: str | None = None, password: str | None = None) -> dict[str, str]:
        """Return the properties of a Java client: of a user, or without authentication."""
        if user is None:
            return {"bootstrap.servers": self.plain}
        word = USERS[user] if password is None else password
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return {
            "bootstrap.servers": self.sasl,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{module} required username="{user}" password="{word}";',
        }

    def close(self) -> None:
        """Stop the server and delete its folder."""
        if isinstance(self.server, DoorkeeperServer):
            self.server.close()
        else:
            self.server.stop()


RELEASES: Mapping[str, str] = {"3.9.1": "4.3", "4.3.1": "4.3", "4.4.0": "4.4"}
"""The release whose rules a Doorkeeper follows beside a broker of a version."""


def kafka_target(
    version: str = "4.3.1",
    *,
    audit_level: str = "warn",
    authorizer_log: str = "",
    **overrides: str,
) -> Target:
    """Start a real broker. Underscores in a key of ``overrides`` stand for dots.

    With a file ``authorizer_log`` it writes each decision there, in Kafka's layout.
    """
    jars = broker_jars(version)
    broker = KafkaBroker(
        logging_by_log4j(jars) if authorizer_log else jars,
        users=USERS,
        overrides=dotted(overrides),
        audit_level=audit_level,
        options=authorizer_log_options(Path(authorizer_log)) if authorizer_log else (),
    )
    try:
        broker.start()
    except BaseException:
        broker.stop()
        raise
    return Target(
        name="kafka",
        server=broker,
        plain=f"localhost:{broker.plain_port}",
        sasl=f"localhost:{broker.sasl_port}",
        controller=f"localhost:{broker.controller_port}",
    )


def doorkeeper_target(
    version: str = "4.3.1",
    topics: Sequence[TopicEntity] = (),
    /,
    *,
    groups: Sequence[str] = (),
    **overrides: str,
) -> Target:
    """Start a Doorkeeper with the listeners, users and authorizer of a broker, and its rules."""
    plain, sasl, controller = free_port(), free_port(), free_port()
    properties = {
        "node.id": "1",
        **listeners(plain, sasl, controller),
        "listener.name.sasl.plain.sasl.jaas.config": jaas(USERS),
        "sasl.enabled.mechanisms": "PLAIN",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "authorizer.class.name": STANDARD,
        "super.users": "User:ANONYMOUS;User:admin",
        "doorkeeper.kafka.release": RELEASES[version],
        **dotted(overrides),
    }
    ports = (plain, sasl, controller)
    server = DoorkeeperServer(properties, ports=ports, groups=groups, topics=topics)
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    return Target(
        name="doorkeeper",
        server=server,
        plain=f"localhost:{plain}",
        sasl=f"localhost:{sasl}",
        controller=f"localhost:{controller}",
    )


def dotted(overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the overrides with the dots of Kafka's keys."""
    return {key.replace("_", "."): value for key, value in overrides.items()}
