"""The logs of all partitions of a server."""

from __future__ import annotations

from collections.abc import Iterator

from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper_broker.log import Memory, PartitionLog


class Records:
    """The logs of all partitions; one is created when it is first asked for."""

    def __init__(self, bytes_max: int) -> None:
        self.memory = Memory(bytes_max)
        self._logs: dict[bytes, dict[int, PartitionLog]] = {}

    def log_of(self, topic: StoredTopic, partition: int) -> PartitionLog:
        """Return the log of a partition that exists."""
        logs = self._logs.get(topic.topic_id)
        if logs is None:
            logs = self._logs[topic.topic_id] = {}
        log = logs.get(partition)
        if log is None:
            log = logs[partition] = PartitionLog(self.memory)
        return log

    def delete_topic(self, topic_id: bytes) -> None:
        """Delete the records of a topic that no longer exists."""
        for log in self._logs.pop(topic_id, {}).values():
            log.delete()

    def topic_ids(self) -> Iterator[bytes]:
        """Return the ids of the topics that have logs."""
        return iter(tuple(self._logs))
