"""Addresses of topics, kafka://host:port,other:port/topic, and ranges of offsets in them.

A range is read at once, and known again later.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import NamedTuple

from doorkeeper_pipeline.errors import PipelineError

SCHEME = "kafka://"
_SERVER = r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}"
_ADDRESS = re.compile(rf"{SCHEME}({_SERVER}(?:,{_SERVER})*)/([a-zA-Z0-9._-]{{1,249}})")
"""Names of topics are those that Kafka allows."""

_USER = re.compile(r"//[^/]*@")


class TopicAddress(NamedTuple):
    """Some servers of a cluster, host:port,..., and a topic."""

    servers: str
    topic: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.servers}/{self.topic}"


def is_topic(text: str) -> bool:
    """Return whether an input is the address of a topic, right or wrong."""
    return text.startswith(SCHEME)


def parse_topic(text: str) -> TopicAddress:
    """Return the address of a topic.

    Raises:
        PipelineError: it is none; the text does not repeat a password in it.

    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        shown = _USER.sub("//...@", text)
        raise PipelineError(
            f"found {shown!r}; the address of a topic is kafka://HOST:PORT,.../TOPIC, and"
            " --command-config has user and password"
        )
    return TopicAddress(match[1], match[2])


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
