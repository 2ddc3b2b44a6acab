"""The keys of delegation tokens."""

from __future__ import annotations

from doorkeeper.config.key import Applies
from doorkeeper.config.keys import KEYS
from doorkeeper.config.token_keys import TOKENS
from doorkeeper.config.values import KeyType


def test_they_are_kafkas() -> None:
    """All are in the table; what is secret is a password; a new value counts without a restart."""
    assert all(KEYS[key.name] is key and key.applies is Applies.RELOAD for key in TOKENS)
    assert [key.name for key in TOKENS if key.type is KeyType.PASSWORD] == [
        "delegation.token.secret.key",
        "delegation.token.master.key",
    ]
