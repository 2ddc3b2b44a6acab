"""A producer, and an administrator that creates a topic, with kafka-python."""

from application import MADE, PYTHON_CLIENT, TOPIC, run
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic


def producer():
    client = KafkaProducer(**PYTHON_CLIENT, enable_idempotence=False, max_block_ms=10_000)
    client.send(TOPIC, b"an order").get(10)
    client.close()


def admin():
    client = KafkaAdminClient(**PYTHON_CLIENT)
    client.create_topics([NewTopic(MADE, 1, 1)])
    client.close()


run(producer, admin)
