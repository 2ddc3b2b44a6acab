"""Options of the audit log, from the keys ``doorkeeper.audit.*``."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from doorkeeper.base.value import Value

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
    merge_s: float = 1.0
    """Window for counting equal decisions, in seconds."""

    queue_events_max: int = 100_000
    """Bound of the queue: about 100 MB of large events."""

    file_bytes_max: int = 16 * 1024 * 1024
    file_age_max_s: float = 3600.0
    compress: bool = True
    retention_days: int = -1
    retention_bytes: int = -1
