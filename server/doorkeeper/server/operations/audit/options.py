"""Options of the audit log, from the keys ``doorkeeper.audit.*``."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from doorkeeper.base.value import Value
from doorkeeper.server.config.audit_keys import (
    AUDIT_FILE_BYTES,
    AUDIT_FILE_MS,
    AUDIT_MERGE_MS,
    AUDIT_QUEUE_EVENTS,
    AUDIT_RETENTION_BYTES,
    AUDIT_RETENTION_DAYS,
)

if TYPE_CHECKING:
    from pathlib import Path


class Sync(Enum):
    """Durability of a change's event at the time of the response."""

    NONE = "none"
    """The event is in the file: it survives kill -9, but not a power cut."""

    INTERVAL = "interval"
    """As ``none``; events older than ``SYNC_INTERVAL_S`` also survive a power cut."""

    STRICT = "strict"
    """The event is in the file and synced. While that fails, changes are rejected."""


class Recorded(Enum):
    """The recorded decisions."""

    ALL = "all"
    DENIED = "denied"
    NONE = "none"


SYNC_INTERVAL_S: Final = 0.1
"""Interval of syncs, and thus the most that ``interval`` may lose in a power cut."""


class AuditOptions(Value):
    """Options of an audit log. A bound of -1 means none."""

    folder: Path
    node: int
    sync: Sync = Sync.INTERVAL
    decisions: Recorded = Recorded.ALL
    merge_s: float = AUDIT_MERGE_MS.default_value / 1000
    """Window for counting equal decisions, in seconds."""

    queue_events_max: int = AUDIT_QUEUE_EVENTS.default_value
    """Bound of the queue: about 100 MB of large events."""

    file_bytes_max: int = AUDIT_FILE_BYTES.default_value
    file_age_max_s: float = AUDIT_FILE_MS.default_value / 1000
    compress: bool = True
    retention_days: int = AUDIT_RETENTION_DAYS.default_value
    retention_bytes: int = AUDIT_RETENTION_BYTES.default_value
