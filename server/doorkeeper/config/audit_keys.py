"""The keys of the audit log."""

from __future__ import annotations

from typing import Final

from doorkeeper.config.key import Key
from doorkeeper.config.values import LONG_MAX, KeyType, at_least, one_of

AUDIT: Final = (
    Key(
        name="doorkeeper.audit.dir",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The folder of the audit trail; made where it is missing, readable by its owner."
            " Without it there is no trail."
        ),
        importance="HIGH",
    ),
    Key(
        name="doorkeeper.audit.sync",
        type=KeyType.STRING,
        default="interval",
        doc=(
            "When the trail is synced to disk. A change is answered when it is in the file: none"
            " leaves it to the system when that is on the disk, interval syncs every 100 ms, strict"
            " syncs first and refuses changes when the trail cannot be written."
        ),
        importance="HIGH",
        check=one_of("none", "interval", "strict"),
    ),
    Key(
        name="doorkeeper.audit.decisions",
        type=KeyType.STRING,
        default="all",
        doc="Which decisions the trail records: all, denied or none.",
        check=one_of("all", "denied", "none"),
    ),
    Key(
        name="doorkeeper.audit.merge.ms",
        type=KeyType.INT,
        default="1000",
        doc="For how long equal decisions, and equal logins, are counted as one event.",
        importance="LOW",
        check=at_least(1, 60_000),
    ),
    Key(
        name="doorkeeper.audit.queue.events",
        type=KeyType.INT,
        default="100000",
        doc=(
            "How many events may wait to be written. Beyond it decisions and logins are counted as"
            " dropped, in the trail too; changes wait."
        ),
        importance="LOW",
        check=at_least(1000, 10_000_000),
    ),
    Key(
        name="doorkeeper.audit.file.bytes",
        type=KeyType.LONG,
        default=str(16 * 1024 * 1024),
        doc="A file of the trail is closed when it would become larger, before it is compressed.",
        check=at_least(1024, LONG_MAX),
    ),
    Key(
        name="doorkeeper.audit.file.ms",
        type=KeyType.LONG,
        default="3600000",
        doc=(
            "A file of the trail is closed when it has been open for so long. Whoever follows"
            " closed files, as the pipeline's stream does, wants 30000."
        ),
        check=at_least(100, LONG_MAX),
    ),
    Key(
        name="doorkeeper.audit.compression",
        type=KeyType.STRING,
        default="zstd",
        doc="How a closed file of the trail is compressed: zstd or none.",
        importance="LOW",
        check=one_of("zstd", "none"),
    ),
    Key(
        name="doorkeeper.audit.retention.days",
        type=KeyType.INT,
        default="-1",
        doc="After how many days closed files of the trail are deleted; -1 keeps them.",
        check=at_least(-1, 36500),
    ),
    Key(
        name="doorkeeper.audit.retention.bytes",
        type=KeyType.LONG,
        default="-1",
        doc="How large the trail may become before its oldest files are deleted; -1 keeps them.",
        check=at_least(-1, LONG_MAX),
    ),
)
