"""The audit log's part of the configuration."""

from __future__ import annotations

from pathlib import Path

from doorkeeper.config.audit import AuditSettings
from testkit.settings import settings_of


def test_values() -> None:
    """Each key has its value."""
    text = (
        "doorkeeper.audit.dir=a/b\ndoorkeeper.audit.sync=strict\ndoorkeeper.audit.decisions=denied\n"
        "doorkeeper.audit.merge.ms=5\ndoorkeeper.audit.queue.events=2000\n"
        "doorkeeper.audit.file.bytes=4096\ndoorkeeper.audit.file.ms=30000\n"
        "doorkeeper.audit.compression=none\ndoorkeeper.audit.retention.days=7\n"
        "doorkeeper.audit.retention.bytes=9\n"
    )

    assert settings_of(text).audit == AuditSettings(
        folder=Path("a/b"),
        sync="strict",
        decisions="denied",
        merge_ms=5,
        queue_events=2000,
        file_bytes=4096,
        file_ms=30000,
        compression="none",
        retention_days=7,
        retention_bytes=9,
    )
