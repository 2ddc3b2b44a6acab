"""Addresses of topics: kafka://host:port,other:port/topic."""

from __future__ import annotations

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


def is_topic(place: str) -> bool:
    """Return whether an input is the address of a topic, right or wrong."""
    return place.startswith(SCHEME)


def parse_topic(text: str) -> TopicAddress:
    """Return the address of a topic.

    Raises:
        PipelineError: it is none; the text does not repeat a password in it.

    """
    found = _ADDRESS.fullmatch(text)
    if found is None:
        shown = _USER.sub("//...@", text)
        raise PipelineError(
            f"found {shown!r}; the address of a topic is kafka://HOST:PORT,.../TOPIC, and"
            " --command-config has user and password"
        )
    return TopicAddress(found[1], found[2])
