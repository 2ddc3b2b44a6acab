"""Settings of the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper.base.value import Value

if TYPE_CHECKING:
    from doorkeeper.server.config.raw_config import RawConfig


class AuditSettings(Value):
    """The values of ``doorkeeper.audit.*``. No folder: no audit log; -1: no bound."""

    folder: Path | None = None
    sync: str = "interval"
    decisions: str = "all"
    merge_ms: int = 1000
    queue_events: int = 100_000
    file_bytes: int = 16 * 1024 * 1024
    file_ms: int = 3_600_000
    compression: str = "zstd"
    retention_days: int = -1
    retention_bytes: int = -1


def audit_of(given: RawConfig) -> AuditSettings:
    """Return the settings of the audit log; record their problems."""
    return AuditSettings(
        folder=given.path("doorkeeper.audit.dir"),
        sync=given.text("doorkeeper.audit.sync"),
        decisions=given.text("doorkeeper.audit.decisions"),
        merge_ms=given.number("doorkeeper.audit.merge.ms"),
        queue_events=given.number("doorkeeper.audit.queue.events"),
        file_bytes=given.number("doorkeeper.audit.file.bytes"),
        file_ms=given.number("doorkeeper.audit.file.ms"),
        compression=given.text("doorkeeper.audit.compression"),
        retention_days=given.number("doorkeeper.audit.retention.days"),
        retention_bytes=given.number("doorkeeper.audit.retention.bytes"),
    )
