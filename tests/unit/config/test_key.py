"""What the table says of each key."""

from doorkeeper.config.key import Key
from doorkeeper.config.values import KeyType


def test_what_a_key_is_by_itself() -> None:
    """Passwords and undeclared keys are sensitive; ours are told by their prefix."""
    password = Key(name="a.password", type=KeyType.PASSWORD, default=None, doc="A.")
    undeclared = Key(name="b", type=KeyType.STRING, default="", doc="B.", declared=False)
    ours = Key(name="doorkeeper.c", type=KeyType.STRING, default="", doc="C.")

    assert [key.sensitive for key in (password, undeclared, ours)] == [True, True, False]
    assert [key.ours for key in (password, undeclared, ours)] == [False, False, True]
