"""Writes a record and reads it in a group, with kafka-python; the address is the argument."""

import sys

from kafka import KafkaConsumer, KafkaProducer


def main():
    """Write one line for each step."""
    producer = KafkaProducer(bootstrap_servers=sys.argv[1], max_block_ms=30_000)
    producer.send("waits", b"x").get(30)
    sys.stdout.write("sent\n")
    consumer = KafkaConsumer(
        "waits",
        bootstrap_servers=sys.argv[1],
        group_id="waits",
        auto_offset_reset="earliest",
        consumer_timeout_ms=30_000,
    )
    sys.stdout.write(f"read {next(consumer).value}\n")
    consumer.close()
    producer.close()


main()
