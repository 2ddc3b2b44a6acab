"""Producers and consumers of each kind, with confluent-kafka."""

import json
import signal
import sys
import threading
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


def _consumer(config, on_assign=None):
    reader = Consumer(
        {
            **SETTINGS,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **config,
        }
    )
    reader.subscribe([TOPIC], **({"on_assign": on_assign} if on_assign else {}))
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


def member():
    """Tell its partitions and its records until SIGTERM, after which it leaves the group."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    config = {"partition.assignment.strategy": "roundrobin", "session.timeout.ms": 6000}
    with closing(_consumer({**config, "heartbeat.interval.ms": 500}, _tell_assigned)) as reader:
        while not ended.is_set():
            message = reader.poll(0.2)
            if message is None or message.error():
                continue
            _tell({"read": message.value().decode()})
            try:
                reader.commit(message, asynchronous=False)
            except KafkaException as error:
                # A commit in a rebalance fails; the record is read again.
                sys.stderr.write(f"{error}\n")


def _tell_assigned(_reader, partitions):
    _tell({"assigned": sorted(each.partition for each in partitions)})


def _tell(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def open_transaction():
    """Write a record in a transaction, tell it, and wait to be killed."""
    timeout = {"transaction.timeout.ms": 5000}
    writer = Producer({**SETTINGS, **timeout, "transactional.id": TRANSACTION})
    writer.init_transactions(LIMIT_S)
    writer.begin_transaction()
    writer.produce(TOPIC, b"never committed")
    writer.flush(LIMIT_S)
    _tell({"written": "never committed"})
    signal.pause()


run(
    producer,
    idempotent_producer,
    transactional_producer,
    consumer,
    newer_consumer,
    exactly_once,
    member,
    open_transaction,
)
