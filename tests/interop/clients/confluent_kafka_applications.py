"""Producers and consumers of each kind, with confluent-kafka."""

import time
from contextlib import closing

from application import ADDRESS, GROUP, LIMIT_S, PASSWORD, TARGET, TOPIC, TRANSACTION, USER, run
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

SETTINGS = {
    "bootstrap.servers": ADDRESS,
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": USER,
    "sasl.password": PASSWORD,
    "log_level": 0,
}


def producer():
    _produce({"enable.idempotence": False})


def idempotent_producer():
    _produce({"enable.idempotence": True})


def _produce(config):
    errors = []
    writer = Producer({**SETTINGS, **config, "message.timeout.ms": 8000, "error_cb": errors.append})
    writer.produce(TOPIC, b"an order", on_delivery=lambda error, _: errors.append(error))
    writer.flush(LIMIT_S)
    if errors != [None]:
        raise KafkaException(errors)


def transactional_producer():
    writer = Producer({**SETTINGS, "transactional.id": TRANSACTION})
    writer.init_transactions(LIMIT_S)
    writer.begin_transaction()
    writer.produce(TOPIC, b"an order")
    writer.commit_transaction(LIMIT_S)


def consumer():
    _consume({})


def newer_consumer():
    _consume({"group.protocol": "consumer"})


def _consume(config):
    with closing(_consumer(config)) as reader:
        reader.commit(_next(reader), asynchronous=False)


def _consumer(config):
    reader = Consumer(
        {
            **SETTINGS,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **config,
        }
    )
    reader.subscribe([TOPIC])
    return reader


def _next(reader):
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        message = reader.poll(1)
        if message is not None and message.error():
            raise KafkaException(message.error())
        if message is not None:
            return message
    raise TimeoutError("no record")


def exactly_once():
    # Closed in any case: a member that does not leave delays the next run.
    with closing(_consumer({"isolation.level": "read_committed"})) as reader:
        writer = Producer({**SETTINGS, "transactional.id": TRANSACTION})
        writer.init_transactions(LIMIT_S)
        message = _next(reader)
        writer.begin_transaction()
        writer.produce(TARGET, message.value())
        position = TopicPartition(TOPIC, message.partition(), message.offset() + 1)
        members = reader.consumer_group_metadata()
        writer.send_offsets_to_transaction([position], members, LIMIT_S)
        writer.commit_transaction(LIMIT_S)


run(
    producer,
    idempotent_producer,
    transactional_producer,
    consumer,
    newer_consumer,
    exactly_once,
)
