"""Applications of one task each, of Kafka and of client libraries, and the ACLs that they need."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from doorkeeper.acls.model import (
    ANY_BINDING,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.client import AdminClient, client_config
from testkit.acl import READ, WRITE, allow, group, topic
from testkit.client_programs import go_program
from testkit.clients import CLIENTS, DRIVERS
from testkit.java_lines import JAVA
from testkit.kafka_jars import jars
from testkit.kafka_target import USERS
from testkit.load import scaled
from testkit.or_skip import or_skip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

USER, TOPIC, TARGET, GROUP, MADE = "alice", "orders", "bills", "readers", "made"
PRINCIPAL = f"User:{USER}"
LIMIT_S = 60

MAY_READ = allow(USER, READ, topic(TOPIC))
MAY_WRITE = allow(USER, WRITE, topic(TOPIC))
MAY_READ_GROUP = allow(USER, READ, group(GROUP))
TRANSACTION = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "billing", PatternType.LITERAL)
MAY_TRANSACT = allow(USER, WRITE, TRANSACTION)


class Application(NamedTuple):
    """Its command, made from the file with its Java settings, and the ACLs that it needs."""

    command: Callable[[str, Path], Sequence[str]]
    needs: Sequence[AclBinding]
    unlogged: str = ""
    """What it writes when it is refused what a broker does not log: InitProducerId."""


def of_a_library(library: str, program: str, name: str) -> Callable[[str, Path], Sequence[str]]:
    """Return the command of an application in ``tests/interop/clients``."""

    def command(_address: str, _settings: Path) -> Sequence[str]:
        client = next(each for each in CLIENTS if each.name == library)
        return [*client.command(DRIVERS / program), name]

    return command


kafka_python = partial(of_a_library, "kafka-python-3", "kafka_python_applications.py")
confluent_kafka = partial(of_a_library, "confluent-kafka", "confluent_kafka_applications.py")
aiokafka = partial(of_a_library, "aiokafka", "aiokafka_applications.py")
kafkajs = partial(of_a_library, "kafkajs", "kafkajs_applications.js")


def sarama(name: str) -> Callable[[str, Path], Sequence[str]]:
    """Return the command of an application with sarama."""
    return lambda _address, _settings: go_program("sarama-records", name)()


def of_a_tool(name: str, option: str, *words: str) -> Callable[[str, Path], Sequence[str]]:
    """Return the command of one of Kafka's own tools."""

    def command(address: str, settings: Path) -> Sequence[str]:
        tool = [*JAVA, "-cp", jars("4.3.1").classpath, f"org.apache.kafka.tools.{name}"]
        return [*tool, "--bootstrap-server", address, option, str(settings), *words]

    return command


CONSUMER = ("--topic", TOPIC, "--group", GROUP, "--from-beginning", "--max-messages", "1")
APPLICATION = {
    "console producer": Application(
        of_a_tool("ConsoleProducer", "--command-config", "--topic", TOPIC, "--sync"), [MAY_WRITE]
    ),
    "console consumer": Application(
        of_a_tool(
            "consumer.ConsoleConsumer", "--command-config", *CONSUMER, "--timeout-ms", "20000"
        ),
        [MAY_READ, MAY_READ_GROUP],
    ),
    "verifiable producer": Application(
        of_a_tool(
            *("VerifiableProducer", "--command-config", "--topic", TOPIC),
            *("--max-messages", "10", "--acks", "-1"),
        ),
        [MAY_WRITE],
    ),
    "kafka-python producer": Application(kafka_python("producer"), [MAY_WRITE]),
    "kafka-python admin": Application(
        kafka_python("admin"),
        [allow(USER, AclOperation.CREATE, topic(MADE))],
    ),
    "librdkafka producer": Application(confluent_kafka("producer"), [MAY_WRITE]),
    "librdkafka idempotent producer": Application(
        confluent_kafka("idempotent_producer"), [MAY_WRITE]
    ),
    "librdkafka transactional producer": Application(
        confluent_kafka("transactional_producer"),
        [MAY_WRITE, MAY_TRANSACT],
    ),
    "librdkafka consumer": Application(confluent_kafka("consumer"), [MAY_READ, MAY_READ_GROUP]),
    "librdkafka newer consumer": Application(
        confluent_kafka("newer_consumer"), [MAY_READ, MAY_READ_GROUP]
    ),
    "librdkafka exactly once": Application(
        confluent_kafka("exactly_once"),
        [MAY_READ, allow(USER, WRITE, topic(TARGET)), MAY_READ_GROUP, MAY_TRANSACT],
    ),
    "aiokafka consumer": Application(aiokafka("consumer"), [MAY_READ, MAY_READ_GROUP]),
    "kafkajs producer": Application(kafkajs("producer"), [MAY_WRITE]),
    "kafkajs idempotent producer": Application(
        kafkajs("idempotent_producer"), [MAY_WRITE], "Cluster authorization failed"
    ),
    "kafkajs consumer": Application(kafkajs("consumer"), [MAY_READ, MAY_READ_GROUP]),
    "sarama producer": Application(sarama("producer"), [MAY_WRITE]),
    "sarama idempotent producer": Application(
        sarama("idempotent_producer"),
        [MAY_WRITE],
        "The client is not authorized to send this request type",
    ),
    "sarama consumer": Application(sarama("consumer"), [MAY_READ, MAY_READ_GROUP]),
}


class Outcome(NamedTuple):
    """Whether an application has done its task, and what it wrote."""

    done: bool
    text: str


def run(application: Application, sasl: str, plain: str, folder: Path) -> Outcome:
    """Run an application to its end, over topics with a new record."""
    prepare(plain)
    settings = folder / "client.properties"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    settings.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={module} required username="{USER}" password="{USERS[USER]}";\n'
        "max.block.ms=10000\ndelivery.timeout.ms=10000\nrequest.timeout.ms=5000\nlinger.ms=0\n"
    )
    environment = {
        **os.environ,
        "KAFKA_BOOTSTRAP_SERVERS": sasl,
        "KAFKA_USER": USER,
        "KAFKA_PASSWORD": USERS[USER],
    }
    words = or_skip(lambda: application.command(sasl, settings))
    done = subprocess.run(
        words,
        input="an order\n",
        env=environment,
        capture_output=True,
        text=True,
        timeout=scaled(LIMIT_S),
        check=False,
    )
    text = done.stdout + done.stderr
    # The console tools write some refusals, and end with 0 nevertheless.
    return Outcome(done.returncode == 0 and "AuthorizationException" not in text, text)


def prepare(plain: str) -> None:
    """Make the topics, and write a record that no group has read."""
    with closing(KafkaAdminClient(bootstrap_servers=plain)) as admin:
        for name in (TOPIC, TARGET):
            with suppress(TopicAlreadyExistsError):
                admin.create_topics([NewTopic(name, 1, 1)])
        with suppress(UnknownTopicOrPartitionError):
            admin.delete_topics([MADE])
    with closing(KafkaProducer(bootstrap_servers=plain)) as producer:
        producer.send(TOPIC, b"an order").get(30)


async def set_acls(address: str, bindings: Sequence[AclBinding]) -> None:
    """Replace all ACLs of a broker, and wait until its authorizer has these."""
    async with AdminClient(client_config(address)) as admin:
        await admin.delete_acls([ANY_BINDING])
        await admin.create_acls(bindings)
        # Each listing is a moment, in which the broker applies what it has acknowledged.
        while sorted(await admin.describe_acls()) != sorted(bindings):
            pass
