"""The ranges of topics that a run reads: each record once.

The rows of the table ``files`` have the offsets that earlier runs read. They are committed with the
decisions, so a run that was killed before has read nothing, and one that was killed after reads
nothing again. No group is used, and nothing is committed to the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from doorkeeper.client.topics import PartitionOffsets
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.jobs.request import RunRequest
from doorkeeper_pipeline.sources.recognising import HEAD_BYTES, SOURCES, form_of
from doorkeeper_pipeline.tables.manifest import SourceFile
from doorkeeper_pipeline.topics.addresses import RecordRange, TopicAddress, parse_topic, range_id
from doorkeeper_pipeline.topics.consumer import Consumer
from doorkeeper_pipeline.topics.lines import as_line


@dataclass(slots=True)
class TopicWork:
    """The ranges of topics that a run reads, and those that it keeps.

    Attributes:
        read: Ranges to be read, each with its id.
        unchanged: Rows of ranges that were read and stay, of topics that were given.
        gone: Rows of ranges of other topics, which stay too.
        warnings: Records that cannot be read any more, and how many.
        failures: Why topics cannot be read.

    """

    read: list[tuple[str, SourceFile]] = field(default_factory=list)
    unchanged: list[dict[str, Any]] = field(default_factory=list)
    gone: list[dict[str, Any]] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def compare_topics(
    request: RunRequest,
    places: Sequence[str],
    known: Sequence[dict[str, Any]],
    tell: Callable[[str], None],
) -> TopicWork:
    """Compare the ranges that were read with the offsets that topics have now."""
    work = TopicWork()
    if places:
        addresses = []
        for text in dict.fromkeys(places):
            try:
                addresses.append(parse_topic(text))
            except PipelineError as error:
                work.failures.append(f"--log: {error}")
        seen: set[str] = set()
        for servers, ours in groupby(sorted(addresses), key=lambda address: address.servers):
            with Consumer(servers, request.command_config) as consumer:
                for address in ours:
                    try:
                        _Topic(request, address, consumer, work).compare(known, seen)
                    except PipelineError as error:
                        work.failures.append(str(error))
        new = sum(file.records.end - file.records.first for _, file in work.read if file.records)
        tell(f"{len(addresses)} topics, {new:,} offsets to read")
    file_ids = {row["file_id"] for row in work.unchanged} | {file_id for file_id, _ in work.read}
    work.gone += [row for row in known if row["file_id"] not in file_ids]
    return work


class _Topic:
    """One topic of a run."""

    def __init__(
        self, request: RunRequest, address: TopicAddress, consumer: Consumer, work: TopicWork
    ) -> None:
        self._request = request
        self._address = address
        self._consumer = consumer
        self._work = work

    def compare(self, known: Iterable[dict[str, Any]], seen: set[str]) -> None:
        """Compare each partition; a topic under the address of another server is ``seen`` once."""
        state = self._consumer.state(self._address)
        if state.log in seen:
            return
        seen.add(state.log)
        rows = [row for row in known if row["topic_id"] == state.log]
        for partition, offsets in state.offsets.items():
            ours = [row for row in rows if row["partition"] == partition]
            self._compare(state.log, partition, offsets, ours)

    def _compare(
        self, log: str, partition: int, offsets: PartitionOffsets, rows: list[dict[str, Any]]
    ) -> None:
        partition_name = f"{self._address}/{partition}"
        begin = max((row["end_offset"] for row in rows), default=offsets.first)
        if begin > offsets.end:
            self._work.failures.append(
                f"{partition_name}: the log ends at offset {offsets.end}, but records up to {begin}"
                " were read before; the topic was recreated or lost records. Use separate --tables"
                " for it"
            )
            return
        self._read_again(log, offsets, rows)
        if begin < offsets.first:
            name = (
                f"{partition_name}: records deleted by the topic's retention before they were read,"
                f" offsets {begin} to {offsets.first - 1}"
            )
            self._work.warnings[name] += offsets.first - begin
            begin = offsets.first
        if begin < offsets.end:
            known = rows[-1]["source"] if rows else None
            self._read(log, range_id(log, partition, begin), partition, begin, offsets.end, known)

    def _read_again(self, log: str, offsets: PartitionOffsets, rows: list[dict[str, Any]]) -> None:
        """Decide about the ranges that were read: they stay, or are read as is asked for now."""
        lost = 0
        for row in rows:
            first, end = row["first_offset"], row["end_offset"]
            is_read = self._request.is_read(row)
            if is_read or offsets.first > first:
                lost += 0 if is_read else end - first
                self._work.unchanged.append(row)
            else:
                self._read(log, row["file_id"], row["partition"], first, end, row["source"])
        if lost:
            name = f"{self._address}: records that no longer exist; kept as read before"
            self._work.warnings[name] += lost

    def _read(
        self, log: str, file_id: str, partition: int, first: int, end: int, known: str | None
    ) -> None:
        record_range = RecordRange(
            self._address, partition, first, end, self._request.command_config
        )
        beginning = b"" if self._request.source else self._beginning(record_range)
        form = form_of(beginning, self._request.pattern)
        source = self._request.source or (form.source if form else known)
        if source is None and not beginning:
            return  # markers of transactions, or records without a value: looked at again
        if source is None:
            self._work.failures.append(
                f"{record_range}: cannot detect the format from the first records; give --source"
                f" {'|'.join(SOURCES)}, or --pattern with the log4j layout"
            )
            return
        file = SourceFile(path=str(record_range), source=source, records=record_range, topic_id=log)
        self._work.read.append((file_id, file))

    def _beginning(self, record_range: RecordRange) -> bytes:
        """Return the first records of a range, as lines."""
        lines = bytearray()
        for records in self._consumer.read(record_range):
            for _, value in records:
                lines += b"" if value is None else as_line(value)
                if len(lines) >= HEAD_BYTES:
                    return bytes(lines[:HEAD_BYTES])
        return bytes(lines)
