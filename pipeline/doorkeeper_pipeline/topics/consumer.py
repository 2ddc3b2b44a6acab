"""Partitions, offsets and records of a cluster's topics, by the client of this project.

It joins no group and commits nothing: which records were read stands with the tables.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.errors import ErrorCode
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.errors import ApiFailure, ClientError
from doorkeeper.client.topics import PartitionOffsets, TopicReader
from doorkeeper_pipeline.errors import PipelineError, Unreadable
from doorkeeper_pipeline.topics.addresses import RecordRange, TopicAddress, log_id
from doorkeeper_pipeline.topics.batches import Record, read_records

T = TypeVar("T")
_MEANINGS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "no such topic",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (
        "not authorized; READ and DESCRIBE on the topic are required"
    ),
    ErrorCode.OFFSET_OUT_OF_RANGE: "records were deleted while they were read: run again",
}


class TopicState(NamedTuple):
    """The id of a topic, as ``log_id`` gives it, and the offsets of each partition."""

    log: str
    offsets: dict[int, PartitionOffsets]


class Consumer:
    """A client of one cluster; closed at the end of the context."""

    def __init__(self, servers: str, config: str = "") -> None:
        """Set the servers and the file with the properties of a client; the first call connects.

        Raises:
            PipelineError: a property is wrong.

        """
        self._runner = asyncio.Runner()
        self._reader: TopicReader | None = None
        self._config = read_config(servers, config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._reader is not None:
            self._runner.run(self._reader.close())
        self._runner.close()

    def state(self, address: TopicAddress) -> TopicState:
        """Return the state of a topic now.

        Raises:
            Unreadable: it is not there, may not be read, or no server answers.

        """
        with _translate_errors(str(address)):
            described = self._run(self._topics().describe(address.topic))
            offsets = self._run(self._topics().offsets(address.topic))
        return TopicState(log_id(described.cluster_id, address.topic, described.topic_id), offsets)

    def read(self, record_range: RecordRange) -> Iterator[list[Record]]:
        """Yield the committed records of a range, some at a time.

        Raises:
            Unreadable: they may not be read, are damaged, or no server answers.

        """
        at = record_range.first
        while at < record_range.end:
            with _translate_errors(str(record_range)):
                fetched = self._run(
                    self._topics().fetch(record_range.address.topic, record_range.partition, at)
                )
                try:
                    records, behind = read_records(fetched.records, fetched.aborted)
                except Unreadable as error:
                    raise Unreadable(f"{record_range}: from offset {at} on: {error}") from error
            if behind <= at:
                raise Unreadable(
                    f"{record_range}: the Fetch response at offset {at} has no complete batch"
                )
            # The first batch begins earlier where the range begins inside of it.
            yield [record for record in records if at <= record.offset < record_range.end]
            at = behind

    def _topics(self) -> TopicReader:
        if self._reader is None:
            self._reader = TopicReader(self._config)
        return self._reader

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(call)


def read_config(servers: str, config: str) -> ClientConfig:
    """Return the configuration of a client, with the properties of a file if there is one.

    Raises:
        PipelineError: the file cannot be read, or a property is wrong.

    """
    # The reader of Java's properties imports what a plain connection does not need.
    if not config:
        return ClientConfig(bootstrap=servers, client_id="doorkeeper-pipeline")
    from doorkeeper.client.properties import client_config

    try:
        return client_config(servers, Path(config))
    except (ValueError, OSError) as error:
        raise PipelineError(f"--command-config {config}: {error}") from error
    except ConfigError as error:
        raise PipelineError(str(error)) from error


@contextmanager
def _translate_errors(source: str) -> Iterator[None]:
    try:
        yield
    except ApiFailure as error:
        meaning = next((text for code, text in _MEANINGS.items() if code == error.code), None)
        raise Unreadable(f"{source}: {meaning or error}") from error
    except ClientError as error:
        raise Unreadable(f"{source}: {error}") from error
