"""Files of a listener, and names of memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from doorkeeper.base.tls import sources
from doorkeeper.base.tls.settings import TlsError
from doorkeeper.base.tls.sources import files_of, memory_file
from testkit.tls import settings


def test_unreadable_files_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FILE_BYTES_MAX", 3)
    (tmp_path / "empty").touch()
    (tmp_path / "large").write_bytes(b"xxxx")
    said = {}

    for name in ("missing", "empty", "large"):
        with pytest.raises(TlsError) as refused:
            files_of(
                settings(prefix="listener.name.door.", ssl_truststore_location=tmp_path / name)
            )
        said[name] = str(refused.value).replace(str(tmp_path), "")

    key = "listener.name.door.ssl.truststore.location"
    assert said == {
        "missing": f"{key}: /missing: No such file or directory",
        "empty": f"{key}: /empty: the file is empty",
        "large": f"{key}: /large: found 4 bytes; at most 3",
    }
    monkeypatch.setattr(sources, "FILE_BYTES_MAX", 1 << 20)
    with pytest.raises(TlsError, match="Is a directory"):
        files_of(settings(ssl_truststore_location=tmp_path))


def test_memory_file_exists_temporarily() -> None:
    data = b"x" * 200_000

    with memory_file(data) as name:
        assert name.startswith("/dev/fd/")
        assert Path(name).read_bytes() == data
    with memory_file(data) as unread:
        pass
    assert not Path(unread).exists()
