"""The receipts and the drift of Kafka clusters in an audit log, for the history of a store.

With a shared store each node writes what it did: then the folders of all nodes tell everything.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.server.operations.audit.names import files_in
from doorkeeper.server.operations.audit.reading import GoneFile, event_of, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from doorkeeper.server.operations.audit.names import AuditFile

    ClusterEvent = Mapping[str, Any]

KIND: Final = "cluster"
_WORDS: Final = b'"cluster"'

_TEXTS: Final = {
    "DRIFT": "differs",
    "AGREED": "agrees again",
    "CHANGED": "was changed",
    "HELD": "changes are held back",
    "FAILED": "cannot be read or changed",
    "REACHED": "can be read again",
}


def cluster_events(
    folders: Sequence[Path], since_ms: int, until_ms: int | None = None
) -> list[ClusterEvent]:
    """Return the events of clusters in a time, the oldest first.

    Raises:
        OSError: a folder cannot be read.
        UnreadableFile: a file is damaged.
    """
    events = [
        event
        for folder in folders
        for file in files_in(folder)
        for event in _events(file, since_ms)
        if since_ms <= time_ms_of(event) and (until_ms is None or time_ms_of(event) < until_ms)
    ]
    return sorted(events, key=lambda event: event["ts_ns"])


def _events(file: AuditFile, since_ms: int) -> Iterator[ClusterEvent]:
    # A server may close the file meanwhile; its events are then in another one.
    with suppress(GoneFile, FileNotFoundError):
        # A closed file was last written after its last event.
        if file.last is not None and file.path.stat().st_mtime * 1000 < since_ms:
            return
        for line in lines_of(file):
            # Most lines are decisions, which cost a search each.
            if _WORDS in line.data and line.is_whole:
                event = event_of(line.data)
                if event is not None and event["kind"] == KIND:
                    yield event


def time_ms_of(event: ClusterEvent) -> int:
    time_ns: int = event["ts_ns"]
    return time_ns // 1_000_000


def receipts_of(events: Sequence[ClusterEvent], revision: int) -> dict[str, ClusterEvent]:
    """Return by cluster the first event that says that a revision, or a later one, is in force."""
    receipts: dict[str, ClusterEvent] = {}
    for event in events:
        if event["event"] == "IN_FORCE" and (event["revision"] or 0) >= revision:
            receipts.setdefault(event["cluster"], event)
    return receipts


def brokers_text(event: ClusterEvent) -> str:
    numbers = ", ".join(map(str, event["brokers"]))
    return f"broker {numbers}" if len(event["brokers"]) == 1 else f"brokers {numbers}"


def event_text(event: ClusterEvent) -> str:
    """Return an event as a sentence without its time. Names are not escaped."""
    name = f"cluster {event['cluster']}"
    if event["event"] == "IN_FORCE":
        return f"{name}: revision {event['revision']} is in force on {brokers_text(event)}"
    text = f"{name}: {_TEXTS.get(event['event'], event['event'])}"
    if event["missing"] or event["extra"]:
        words = ("added", "removed") if event["event"] == "CHANGED" else ("missing", "too many")
        text += f", {event['missing']} {words[0]}, {event['extra']} {words[1]}"
    return f"{text}: {event['reason']}" if event["reason"] else text
