"""The keys of the audit log."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import Key
from doorkeeper.base.values import LONG_MAX, KeyType, at_least, one_of

AUDIT: Final = (
    Key(
        name="doorkeeper.audit.dir",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The folder of the audit log. It is created if missing, readable only by its owner."
            " Without it there is no audit log."
        ),
        importance="HIGH",
    ),
    Key(
        name="doorkeeper.audit.sync",
        type=KeyType.STRING,
        default="interval",
        doc=(
            "When the audit log is synced to disk. The response to a change waits until its"
            " event is in the file: none leaves syncs to the system, interval syncs every 100 ms,"
            " strict syncs before the response and rejects changes while the audit log cannot be"
            " written."
        ),
        importance="HIGH",
        check=one_of("none", "interval", "strict"),
    ),
    Key(
        name="doorkeeper.audit.decisions",
        type=KeyType.STRING,
        default="all",
        doc="The decisions in the audit log: all, denied or none.",
        check=one_of("all", "denied", "none"),
    ),
    Key(
        name="doorkeeper.audit.merge.ms",
        type=KeyType.INT,
        default="1000",
        doc="Window in which equal decisions, and equal logins, are merged into one event.",
        importance="LOW",
        check=at_least(1, 60_000),
    ),
    Key(
        name="doorkeeper.audit.queue.events",
        type=KeyType.INT,
        default="100000",
        doc=(
            "The maximum number of queued events. Beyond it decisions and logins are dropped and"
            " counted, also in the audit log; changes wait."
        ),
        importance="LOW",
        check=at_least(1000, 10_000_000),
    ),
    Key(
        name="doorkeeper.audit.file.bytes",
        type=KeyType.LONG,
        default=str(16 * 1024 * 1024),
        doc="A file of the audit log is closed before it becomes larger, uncompressed.",
        check=at_least(1024, LONG_MAX),
    ),
    Key(
        name="doorkeeper.audit.file.ms",
        type=KeyType.LONG,
        default="3600000",
        doc=(
            "A file of the audit log is closed after this time. For readers of closed files,"
            " such as the pipeline's stream, 30000 is suitable."
        ),
        check=at_least(100, LONG_MAX),
    ),
    Key(
        name="doorkeeper.audit.compression",
        type=KeyType.STRING,
        default="zstd",
        doc="The compression of closed files: zstd or none.",
        importance="LOW",
        check=one_of("zstd", "none"),
    ),
    Key(
        name="doorkeeper.audit.retention.days",
        type=KeyType.INT,
        default="-1",
        doc="Closed files of the audit log are deleted after this number of days; -1 keeps them.",
        check=at_least(-1, 36500),
    ),
    Key(
        name="doorkeeper.audit.retention.bytes",
        type=KeyType.LONG,
        default="-1",
        doc="The size of the audit log beyond which its oldest files are deleted; -1 keeps them.",
        check=at_least(-1, LONG_MAX),
    ),
)
