"""Keys in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.security.oauth.jwks import FileKeys
from testkit.edge import Log
from testkit.tokens import key_of, key_set

if TYPE_CHECKING:
    from pathlib import Path

FIRST = key_set(key_of("EC", "first"))
SECOND = key_set(key_of("EC", "second"), key_of("EC", "third"))


def ids(keys: FileKeys) -> list[str | None]:
    return [each.kid for each in keys.keys.keys]


async def test_changed_file_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(FIRST)
    keys = FileKeys(path, Log())
    assert ids(keys) == []
    await keys.start()
    assert ids(keys) == ["first"]
    path.write_bytes(SECOND)
    keys.refresh()
    assert ids(keys) == ["second", "third"]
    path.write_bytes(FIRST)
    keys.fetch_newer()
    assert ids(keys) == ["first"]
    await keys.close()


async def test_invalid_file_keeps_the_keys(tmp_path: Path) -> None:
    path, log = tmp_path / "keys.json", Log()
    path.write_bytes(FIRST)
    keys = FileKeys(path, log)
    await keys.start()
    path.write_bytes(b"{")

    keys.refresh()

    problem = str(log.one("files not reloaded: the previous values stay in use").fields["problem"])
    assert problem.startswith(f"{path}: not a JSON Web Key Set")
    assert ids(keys) == ["first"]


@pytest.mark.parametrize("text", [None, b"{}", b" " * 600_000])
async def test_missing_keys_stop_the_start(tmp_path: Path, text: bytes | None) -> None:
    path = tmp_path / "keys.json"
    if text is not None:
        path.write_bytes(text)

    with pytest.raises(ValueError, match=r"keys\.json: "):
        await FileKeys(path, Log()).start()
