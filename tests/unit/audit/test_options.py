"""doorkeeper.audit.options: the words of the keys."""

from __future__ import annotations

from doorkeeper.audit.options import Recorded, Sync
from doorkeeper.config.keys import KEYS


def test_the_words_are_those_of_the_keys() -> None:
    """Each word that a key takes has its member, and no other is refused by the key."""
    for key, words in (("doorkeeper.audit.sync", Sync), ("doorkeeper.audit.decisions", Recorded)):
        check = KEYS[key].check
        assert check is not None
        for member in words:
            check(member.value)
        assert KEYS[key].default in {member.value for member in words}
