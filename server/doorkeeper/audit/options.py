"""What the keys ``doorkeeper.audit.*`` say, as the trail takes it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from doorkeeper.value import Value

if TYPE_CHECKING:
    from pathlib import Path


class Sync(Enum):
    """What is true of a change's event when the change is answered."""

    NONE = "none"
    """It is in the file: it survives the process, kill -9 too, but not the machine."""

    INTERVAL = "interval"
    """As none; and what is older than ``SYNC_INTERVAL_S`` survives the machine as well."""

    STRICT = "strict"
    """It is in the file and synced. Where it cannot be, changes are refused."""


class Recorded(Enum):
    """Which decisions are recorded."""

    ALL = "all"
    DENIED = "denied"
    NONE = "none"


SYNC_INTERVAL_S: Final = 0.1
"""What ``interval`` may lose with the machine."""


class TrailOptions(Value):
    """How a trail is kept. A bound of -1 is none."""

    folder: Path
    node: int
    sync: Sync = Sync.INTERVAL
    decisions: Recorded = Recorded.ALL
    merge_s: float = 1.0
    """For how long equal decisions are counted before they become an event."""

    queue_events_max: int = 100_000
    """How many events may wait for the thread: some 100 MB when they are large."""

    file_bytes_max: int = 16 * 1024 * 1024
    file_age_max_s: float = 3600.0
    compress: bool = True
    retention_days: int = -1
    retention_bytes: int = -1
