"""Rows of keys: what their values are, and when they apply."""

from __future__ import annotations

from pathlib import Path

import pytest

from doorkeeper.base.key import Applies, Key, KeyValues, Scope, file, flag, integer, optional, words
from doorkeeper.base.values import at_least

SIZE = integer("a.size", 5, "A size.", at_least(1), scope=Scope.LISTENER)
ROWS = (
    (SIZE, " 7 ", 7, 5),
    (flag("a.flag", "A flag.", default=True), "False", False, True),
    (words("a.words", "x,y", "Some words."), "b,,a, b", ("b", "a"), ("x", "y")),
    (words("a.none", None, "Some words."), "", (), ()),
    (optional("a.text", "A text."), " ", None, None),
    (file("a.file", "A file."), "b/c", Path("b/c"), None),
)


@pytest.mark.parametrize(("key", "text", "value", "default"), ROWS)
def test_key_parses_value_and_default(
    key: Key[object], text: str, value: object, default: object
) -> None:
    assert (key.parse(text), key.default_value) == (value, default)


def test_invalid_value_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^a whole number from 1 to 2147483647$"):
        SIZE.parse("0")


def test_prefixed_key_applies_after_sighup() -> None:
    assert SIZE.applies is Applies.RELOAD
    assert flag("a.flag", "A flag.").applies is Applies.RESTART


def test_listener_values_are_typed() -> None:
    prefixed = "listener.name.a.a.size"
    values = KeyValues(values={"a.size": "9"}, given_as={"a.size": prefixed})

    assert (values[SIZE], values.full_name(SIZE)) == (9, prefixed)
    assert (KeyValues(values={"a.size": " "})[SIZE], KeyValues().full_name(SIZE)) == (5, "a.size")
