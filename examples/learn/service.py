"""A service that takes orders and bills them: it writes one order, and reads it in a group.

pip install . kafka-python    # in the folder of a checkout
doorkeeper learn -- python examples/learn/service.py
"""

from __future__ import annotations

import os
import sys

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

ADDRESS = os.environ["KAFKA_BOOTSTRAP_SERVERS"]


def main() -> None:
    """Take an order, and bill it."""
    producer = KafkaProducer(bootstrap_servers=ADDRESS, max_block_ms=10_000)
    producer.send("orders", b"3 apples").get(10)
    producer.close()
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=ADDRESS,
        group_id="billing",
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    for message in consumer:
        sys.stdout.write(f"billed: {message.value.decode()}\n")
        break
    consumer.close()


if __name__ == "__main__":
    try:
        main()
    except KafkaError as error:
        sys.exit(f"{type(error).__name__}: {error}")
