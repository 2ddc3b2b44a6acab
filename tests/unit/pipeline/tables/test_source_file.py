"""An input file, as it was found."""

from __future__ import annotations

from hashlib import sha256

from doorkeeper_pipeline.tables.source_file import SourceFile


def test_a_file_is_recognized_by_its_beginning() -> None:
    """The digest is SHA-256 of the beginning; of its first bytes, where the file has grown."""
    file = SourceFile(
        path="/a.log",
        source="authorizer-log",
        how="",
        size=9,
        mtime_ns=1,
        inode=1,
        beginning=b"beginning",
    )

    assert file.digest() == sha256(b"beginning").hexdigest()
    assert file.digest(5) == sha256(b"begin").hexdigest()
