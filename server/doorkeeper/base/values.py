"""Typed values of texts, as Kafka's ``ConfigDef`` parses them.

A parser takes the trimmed text. Its ``ValueError`` describes the allowed values; the caller adds
the value itself, unless the key is sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TypeAlias

Value: TypeAlias = bool | int | float | str | tuple[str, ...]
HIDDEN = "[hidden]"
"""Placeholder of a secret, as printed by Kafka's ``Password``."""


# repr, str and format print the placeholder; str.__str__ returns the text.
class Password(str):
    """A secret: the text itself, but hidden when it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return HIDDEN

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, _specification: str) -> str:
        return HIDDEN


Check: TypeAlias = Callable[[Value], None]
"""Raises ``ValueError`` with the allowed values."""

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class NotAllowed(ValueError):
    """Elements of a value that are not allowed; the text describes the allowed ones."""

    def __init__(self, elements: Sequence[str], allowed: str) -> None:
        super().__init__(allowed)
        self.elements = tuple(elements)


class KeyType(IntEnum):
    """The types of Kafka's keys; the codes are those of DescribeConfigs."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


BOUNDS = {
    KeyType.SHORT: (-(2**15), 2**15 - 1),
    KeyType.INT: (-(2**31), INT_MAX),
    KeyType.LONG: (-(2**63), LONG_MAX),
}
_WHOLE = re.compile(r"[+-]?[0-9]+")


_BLANKS = "".join(map(chr, range(33)))


def trim(text: str) -> str:
    """Return a text without the blanks around it that ``String.trim`` of Java removes.

    ``str.strip`` removes more: with it, ``User:admin`` and a no-break space were a super user.
    """
    return text.strip(_BLANKS)


def parse_value(key_type: KeyType, text: str) -> Value:
    text = trim(text)
    if key_type is KeyType.BOOLEAN:
        return _boolean(text)
    if key_type in BOUNDS:
        return _whole(text, *BOUNDS[key_type])
    if key_type is KeyType.DOUBLE:
        return _double(text)
    if key_type is KeyType.PASSWORD:
        return Password(text)
    if key_type is KeyType.LIST:
        # As ``ConfigDef``: a comma cannot be escaped, and an empty text is an empty list.
        return tuple(trim(part) for part in text.split(",")) if text else ()
    return text


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ValueError("true or false")
    return lowered == "true"


def _whole(text: str, low: int, high: int) -> int:
    allowed = f"a whole number from {low} to {high}"
    # Python rejects numbers of thousands of digits with an error of its own.
    if not _WHOLE.fullmatch(text) or len(text) > 40:
        raise ValueError(allowed)
    number = int(text)
    if not low <= number <= high:
        raise ValueError(allowed)
    return number


def _double(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number") from None


def at_least(low: int, high: int = INT_MAX) -> Check:
    """Return a check of a number's range."""

    def check(value: Value) -> None:
        if not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high}")

    return check


def off_or_at_least(low: int, high: int = INT_MAX) -> Check:
    """Return a check of a number that is -1, or in a range."""

    def check(value: Value) -> None:
        if not isinstance(value, int) or not (value == -1 or low <= value <= high):
            raise ValueError(f"-1, or a whole number from {low} to {high}")

    return check


def one_of(*allowed: str) -> Check:
    """Return a check for one of some texts."""

    def check(value: Value) -> None:
        if value not in allowed:
            raise ValueError(" or ".join(allowed))

    return check


def not_blank(value: Value) -> None:
    """Reject an empty text."""
    if not value:
        raise ValueError("a non-empty string")


def without_login(text: str | None) -> str | None:
    """Return a value for output: the user and password of a URL are hidden."""
    if text is None:
        return None
    return _PASSWORD.sub(HIDDEN, _LOGIN.sub(f"{HIDDEN}@", text))


# Up to the last @ of a database URL: a password may contain a slash.
_LOGIN = re.compile(r"(?<=postgres://)\S*@|(?<=postgresql://)\S*@|(?<=://)[^/\s@]*@")

_PASSWORD = re.compile(r"(?<=[?&]password=)[^&\s]*|(?<=[?&]sslpassword=)[^&\s]*")
