"""Prints what librdkafka tells a user who is refused; its configuration is on stdin."""

import json
import sys

from confluent_kafka import Consumer, Producer

POLLS = 40


def delivery(config):
    """Return the error of a record's delivery."""
    found = []
    producer = Producer(config)
    producer.produce("orders", b"x", callback=lambda error, _: found.append(error.str()))
    producer.flush(20)
    return found[0]


def first_error(config, topic, group):
    """Return the first error of a consumer."""
    consumer = Consumer({**config, "group.id": group})
    consumer.subscribe([topic])
    try:
        for _ in range(POLLS):
            message = consumer.poll(1)
            if message is not None:
                return message.error().str()
    finally:
        consumer.close()
    return "nothing"


def client_error(config):
    """Return the first error of a client that need not do anything."""
    found = []
    client = Producer({**config, "error_cb": lambda error: found.append(error.str())})
    for _ in range(POLLS):
        client.poll(0.5)
        if found:
            return found[0]
    return "nothing"


def main():
    """Write the texts, a line each."""
    bob = json.load(sys.stdin)
    told = (
        delivery(bob),
        first_error(bob, "orders", "none"),
        first_error(bob, "orders", "billing"),
        first_error(bob, "other", "billing"),
        client_error({**bob, "sasl.password": "wrong"}),
        client_error({**bob, "sasl.password": "wrong", "sasl.mechanisms": "SCRAM-SHA-512"}),
        client_error({**bob, "security.protocol": "SASL_SSL"}),
    )
    sys.stdout.writelines(f"{text}\n" for text in told)


main()
