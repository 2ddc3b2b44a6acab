"""An input file, or a range of a topic, as it was found."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from doorkeeper_pipeline.topics.ranges import RecordRange


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """An input file, or a range of a topic.

    Attributes:
        path: Where, absolute.
        source: One of SOURCES.
        how: How it is compressed: gz, zst or nothing.
        size: Bytes.
        mtime_ns: When it was changed last.
        inode: Its number in the file system.
        beginning: Its first IDENTITY_BYTES, uncompressed.
        records: The range of a topic that it is; None for a file.
        topic_id: What names the topic; empty for a file.

    """

    path: str
    source: str
    how: str
    size: int
    mtime_ns: int
    inode: int
    beginning: bytes
    records: RecordRange | None = None
    topic_id: str = ""

    def digest(self, size: int | None = None) -> str:
        """Return the digest of the beginning, or of its first bytes."""
        return hashlib.sha256(self.beginning[:size]).hexdigest()
