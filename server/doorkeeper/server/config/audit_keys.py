"""The keys of the audit log."""

from __future__ import annotations

from enum import Enum
from typing import Final

from doorkeeper.base.key import Key, file, integer, long, text
from doorkeeper.base.values import LONG_MAX, KeyType, at_least, one_of


class Sync(Enum):
    """Durability of a change's event at the time of the response."""

    NONE = "none"
    """The event is in the file: it survives kill -9, but no power cut and no failing disk."""

    INTERVAL = "interval"
    """As ``none``; older events (``SYNC_INTERVAL_S`` of the writer) also survive a power cut."""

    STRICT = "strict"
    """The event is in the file and synced. While that fails, changes are rejected."""


class Recorded(Enum):
    """The recorded decisions."""

    ALL = "all"
    DENIED = "denied"
    NONE = "none"


AUDIT_DIR: Final = file(
    "doorkeeper.audit.dir",
    "The folder of the audit log. It is created if missing, readable only by its owner. Without"
    " it there is no audit log.",
)
AUDIT_SYNC: Final = Key(
    "doorkeeper.audit.sync",
    KeyType.STRING,
    "interval",
    "When the audit log is synced to disk. The response to a change waits until its event is in"
    " the file: none leaves syncs to the system, interval syncs every 100 ms, strict syncs"
    " before the response and rejects changes while the audit log cannot be written.",
    one_of(*(member.value for member in Sync)),
    read=Sync,
)
AUDIT_DECISIONS: Final = Key(
    "doorkeeper.audit.decisions",
    KeyType.STRING,
    "all",
    "The decisions in the audit log: all, denied or none.",
    one_of(*(member.value for member in Recorded)),
    read=Recorded,
)
AUDIT_MERGE_MS: Final = integer(
    "doorkeeper.audit.merge.ms",
    1000,
    "Window in which equal decisions, and equal logins, are merged into one event.",
    at_least(1, 60_000),
)
AUDIT_QUEUE_EVENTS: Final = integer(
    "doorkeeper.audit.queue.events",
    100_000,
    "The maximum number of queued events. Beyond it, decisions and logins are dropped and counted"
    " (also in the audit log); changes are always queued. Long names of a peer take the room of"
    " several events.",
    at_least(1000, 10_000_000),
)
AUDIT_FILE_BYTES: Final = long(
    "doorkeeper.audit.file.bytes",
    16 * 1024 * 1024,
    "A file of the audit log is closed before it becomes larger, uncompressed.",
    at_least(1024, LONG_MAX),
)
AUDIT_FILE_MS: Final = long(
    "doorkeeper.audit.file.ms",
    3_600_000,
    "A file of the audit log is closed after this time. Use 30000 for readers of closed files,"
    " such as the pipeline's run --follow.",
    at_least(100, LONG_MAX),
)
AUDIT_COMPRESSION: Final = text(
    "doorkeeper.audit.compression",
    "zstd",
    "The compression of closed files: zstd or none.",
    one_of("zstd", "none"),
)
AUDIT_RETENTION_DAYS: Final = integer(
    "doorkeeper.audit.retention.days",
    -1,
    "Closed files of the audit log are deleted after this number of days; -1 keeps them.",
    at_least(-1, 36_500),
)
AUDIT_RETENTION_BYTES: Final = long(
    "doorkeeper.audit.retention.bytes",
    -1,
    "The size of the audit log beyond which its oldest files are deleted; -1 keeps them.",
    at_least(-1, LONG_MAX),
)
