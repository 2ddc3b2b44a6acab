"""Drives members of one group of confluent-kafka's newer consumers (group.protocol=consumer)."""

import time

import conversation
from confluent_kafka import Consumer, KafkaException, Producer

LIMIT_S = 30


class Session:
    """Consumers by name."""

    def __init__(self, bootstrap, user, password):
        self.config = {"bootstrap.servers": bootstrap, "log_level": 0}
        if user is not None:
            self.config |= {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": user,
                "sasl.password": password,
            }
        self.members = {}
        self.records = []

    def close(self):
        for name in list(self.members):
            self.leave(name)

    def produce(self, topic, count):
        producer = Producer(self.config)
        for number in range(count):
            producer.produce(topic, str(number).encode(), partition=number % 4)
        return producer.flush(LIMIT_S)

    def join(self, name, group, topics, **config):
        own = {
            "group.id": group,
            "group.protocol": "consumer",
            "client.id": name,
            "auto.offset.reset": "earliest",
            **config,
        }
        self.members[name] = Consumer({**self.config, **own})
        self.members[name].subscribe(topics)

    def leave(self, name):
        self.members.pop(name).close()

    def wait_for(self, sizes):
        """Poll until the members have so many partitions; return those of each."""
        until = time.monotonic() + LIMIT_S
        found = {}
        while time.monotonic() < until:
            self._poll()
            found = {
                name: sorted([each.topic, each.partition] for each in member.assignment())
                for name, member in self.members.items()
            }
            if {name: len(each) for name, each in found.items()} == sizes:
                return found
        raise TimeoutError(f"members have {found}; expected: {sizes} partitions")

    def read(self, count):
        """Poll until so many records came; return their values."""
        until = time.monotonic() + LIMIT_S
        while len(self.records) < count and time.monotonic() < until:
            self._poll()
        return sorted(self.records)

    def commit(self, name):
        committed = self.members[name].commit(asynchronous=False)
        return sorted([each.partition, each.offset] for each in committed)

    def _poll(self):
        for member in self.members.values():
            record = member.poll(0.05)
            if record is None:
                continue
            if record.error():
                raise KafkaException(record.error())
            self.records.append(int(record.value()))


if __name__ == "__main__":
    conversation.run(Session)
