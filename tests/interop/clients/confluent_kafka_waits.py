"""Writes a record and reads it in a group, with librdkafka; the address is the argument."""

import sys

from confluent_kafka import Consumer, Producer

ADDRESS = {"bootstrap.servers": sys.argv[1]}


def delivered(error, _message):
    """Report the end of the delivery."""
    sys.stdout.write("sent\n" if error is None else f"{error}\n")


def main():
    """Write one line for each step."""
    producer = Producer(ADDRESS)
    producer.produce("waits", b"x", callback=delivered)
    producer.flush(30)
    consumer = Consumer({**ADDRESS, "group.id": "waits", "auto.offset.reset": "earliest"})
    consumer.subscribe(["waits"])
    message = consumer.poll(30)
    sys.stdout.write(f"read {message and (message.error() or message.value())}\n")
    consumer.close()


main()
