"""The keys of the operations port."""

from __future__ import annotations

from doorkeeper.config.http_keys import HTTP
from doorkeeper.config.keys import KEYS


def test_they_are_ours_and_off_by_default() -> None:
    """All begin alike, are known, and without a value there is no port."""
    assert all(key.name.startswith("doorkeeper.http.") and KEYS[key.name] is key for key in HTTP)
    assert KEYS["doorkeeper.http.listener"].default is None
