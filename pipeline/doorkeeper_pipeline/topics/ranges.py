"""Ranges of offsets of a partition: each is read at once, and known again later."""

from __future__ import annotations

import base64
import hashlib
from typing import NamedTuple

from doorkeeper_pipeline.topics.addresses import TopicAddress

ID_LENGTH = 16
RANGE_RECORDS = 200_000
"""Offsets of a task: with events of two kilobytes its temporary file has some 400 MB."""


class RecordRange(NamedTuple):
    """Offsets of a partition, from ``first`` until before ``end``.

    ``config`` is the file with the properties of a client, empty for none.
    """

    address: TopicAddress
    partition: int
    first: int
    end: int
    config: str = ""

    def __str__(self) -> str:
        return f"{self.address}/{self.partition}"

    def pieces(self, size: int = RANGE_RECORDS) -> list[RecordRange]:
        """Return ranges that tasks read."""
        return [
            self._replace(first=first, end=min(first + size, self.end))
            for first in range(self.first, self.end, size)
        ]


def log_id(cluster_id: str, topic: str, topic_id: bytes) -> str:
    """Return a text that names a topic: another one after it was deleted and created again."""
    own = base64.urlsafe_b64encode(topic_id).decode("ascii").rstrip("=") if any(topic_id) else ""
    return f"{cluster_id}/{topic}/{own}"


def range_id(log: str, partition: int, first: int) -> str:
    """Return the id of a range in the table ``files``: it begins as that of all of its topic."""
    digest = hashlib.sha256(log.encode()).hexdigest()[:ID_LENGTH]
    return f"{digest}-{partition}-{first}"
