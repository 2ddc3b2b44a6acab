"""Keys in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.security.oauth.jwks import KeySet, parse
from doorkeeper.server.security.oauth.jwks_file import FileKeys
from testkit.tokens import key_of, key_set

if TYPE_CHECKING:
    from pathlib import Path

FIRST = key_set(key_of("EC", "first"))
SECOND = key_set(key_of("EC", "second"), key_of("EC", "third"))


def ids(keys: FileKeys) -> list[str | None]:
    return [each.kid for each in keys.keys.keys]


async def started(path: Path, text: bytes = FIRST) -> FileKeys:
    path.write_bytes(text)
    keys = FileKeys(path)
    await keys.start()
    return keys


async def test_a_changed_file_is_loaded(tmp_path: Path) -> None:
    """Whether it is written anew or replaced; one that is as before is left alone."""
    path = tmp_path / "keys.json"
    keys = await started(path)
    before = keys.keys

    assert keys.refresh() is None
    assert keys.keys is before
    path.write_bytes(SECOND)
    assert keys.refresh() is None
    assert ids(keys) == ["second", "third"]
    other = tmp_path / "other"
    other.write_bytes(FIRST)
    other.replace(path)
    assert keys.refresh() is None
    assert ids(keys) == ["first"]
    await keys.close()


async def test_a_fault_is_told_once_and_the_keys_stay(tmp_path: Path) -> None:
    """A file that is gone, or no key set; when it is good again, it is used."""
    path = tmp_path / "keys.json"
    keys = await started(path)

    path.write_bytes(b"{")
    first, again = keys.refresh(), keys.refresh()
    path.unlink()
    gone = keys.refresh()

    assert first is not None
    assert "no JSON Web Key Set" in first
    assert again is None
    assert gone == f"{path}: No such file or directory"
    assert ids(keys) == ["first"]
    path.write_bytes(SECOND)
    assert keys.refresh() is None
    assert ids(keys) == ["second", "third"]


async def test_an_unknown_key_finds_a_file_that_has_just_changed(tmp_path: Path) -> None:
    """Nobody waits for the next look."""
    keys = await started(tmp_path / "keys.json")
    (tmp_path / "keys.json").write_bytes(SECOND)

    keys.fetch_newer()

    assert ids(keys) == ["second", "third"]


async def test_a_broken_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody may name keys that nobody has: that must not cost a reading of the file each."""
    path = tmp_path / "keys.json"
    keys = await started(path)
    read: list[bytes] = []

    def counted(data: bytes) -> KeySet:
        read.append(data)
        return parse(data)

    monkeypatch.setattr("doorkeeper.server.security.oauth.jwks_file.parse", counted)
    path.write_bytes(b"{")
    for _ in range(5):
        keys.fetch_newer()
        keys.refresh()

    assert read == [b"{"]


@pytest.mark.parametrize("text", [None, b"{}", b" " * 600_000])
async def test_no_keys_are_an_error_at_the_start(tmp_path: Path, text: bytes | None) -> None:
    """The error names the file."""
    path = tmp_path / "keys.json"
    if text is not None:
        path.write_bytes(text)

    with pytest.raises(ValueError, match=r"keys\.json: "):
        await FileKeys(path).start()
