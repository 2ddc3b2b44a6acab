from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.state.storage.identity import (
    ExpectedStore,
    IdentityFile,
    check_expected_store,
    read_expected_store,
    replace_identity_file,
)
from doorkeeper.server.state.store import StorageError, StoreReplaced

if TYPE_CHECKING:
    from pathlib import Path

EXPECTED = ExpectedStore("C" * 22, "S" * 22, 41)


def test_identity_round_trips(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    file = IdentityFile(path, EXPECTED)
    size = path.stat().st_size

    file.acknowledge(10**12)
    file.close()
    file.close()

    assert read_expected_store(path) == EXPECTED._replace(revision=10**12)
    assert path.stat().st_size == size
    assert path.stat().st_mode & 0o777 == 0o600


def test_shorter_text_replaces_a_longer_one(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    path.write_text("x" * 1000)

    replace_identity_file(path, EXPECTED)
    assert read_expected_store(path) == EXPECTED
    replace_identity_file(path, None)
    replace_identity_file(path, None)

    assert read_expected_store(path) is None


def test_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "identity"
    replace_identity_file(path, EXPECTED)

    def no_room(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", no_room)
        with pytest.raises(StorageError, match="identity: cannot write: No space left"):
            replace_identity_file(path, EXPECTED._replace(revision=42))

    assert read_expected_store(path) == EXPECTED


@pytest.mark.parametrize("text", ["", "cluster_id=a\nstore_id=b\n", "a\nb\n", "revision=x", "\xff"])
def test_invalid_identity_file_is_rejected(tmp_path: Path, text: str) -> None:
    path = tmp_path / "identity"
    path.write_bytes(text.encode("latin-1"))

    with pytest.raises(StorageError, match=r"identity: .* doorkeeper store accept"):
        read_expected_store(path)


def test_unreadable_identity_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot read: Is a directory"):
        read_expected_store(tmp_path)
    with pytest.raises(StorageError, match="none/identity: cannot open"):
        replace_identity_file(tmp_path / "none" / "identity", EXPECTED)


@pytest.mark.parametrize("found", [EXPECTED, EXPECTED._replace(revision=42)])
def test_expected_store_is_accepted(tmp_path: Path, found: ExpectedStore) -> None:
    check_expected_store(tmp_path, "place", EXPECTED, found)


@pytest.mark.parametrize(
    "found",
    [
        None,
        EXPECTED._replace(cluster_id="X" * 22),
        EXPECTED._replace(store_id="X" * 22),
        EXPECTED._replace(revision=40),
    ],
)
def test_other_store_is_rejected(tmp_path: Path, found: ExpectedStore | None) -> None:
    with pytest.raises(StoreReplaced) as caught:
        check_expected_store(tmp_path, "place", EXPECTED, found)

    text = str(caught.value)
    assert text.startswith(f"place: {'no store is here' if found is None else f'this is {found}'}")
    assert str(EXPECTED) in text
    assert str(tmp_path) in text
    for command in ("restore FILE", "accept", "create --overwrite"):
        assert f"doorkeeper store {command}" in text
    assert "\n" not in text
