"""Odd values and damaged bytes: what codecs are asked beyond well-formed messages.

Everything is made from a seed, so that a case that was found can be made again.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

HOSTILE = tuple(
    bytes.fromhex(text)
    for text in (
        # Lengths: null, empty, borders of a varint's bytes and of int16 and int32, overlong zeros.
        *("00", "01", "7f", "80", "ff", "fe", "8001", "808001", "8000", "808000", "8080808000"),
        *("ffffffff0f", "ffffffff07", "8080808008", "8180808008", "8080808070", "ffffffff7f"),
        *("ffff", "fffe", "7fff", "8000", "ffffffff", "fffffffe", "7fffffff", "80000000"),
        *("00000000", "808080808000", "80800202", "ffff01"),
        # Tag sections: unknown tags, twice the same, out of order, with sizes that do not fit.
        *("0100020000", "010503010203", "0205000500", "0206000500", "01057f", "0105ffffffff0f"),
        *("ffffffff0f", "0101010a", "01000100", "0102080000000000000001", "01ffffffff070001"),
        # Texts: surrogates, overlong forms, lone continuation bytes, borders of Unicode.
        *("eda080", "edbfbf", "eda0bdedb880", "c080", "e08080", "f0808080", "f48fbfbf", "f4908080"),
        *("f5", "e282", "f09f98", "80", "bf", "efbfbd", "c3a9", "f09f9880"),
    )
)
_TEXT_BORDERS = bytes.fromhex("00287f808f909fa0bfc0c1c2dfe0ede1eff0f1f4f5ff")

ODD_TEXTS = (
    *("", "\0", "\ufffd", "\uffff", "\U0010ffff", "é", "€", "\U0001f600", "a\u0301", "\ud800"),
    *("x" * 126, "x" * 127, "x" * 128, "é" * 8191, "x" * 16382, "x" * 16383, "x" * 16384),
    *("x" * 32766, "x" * 32767, "x" * 32768, "é" * 16383, "é" * 16384, "\U0001f600" * 8192),
)
"""Texts around every border of lengths; those above 32,767 bytes cannot be encoded."""


def odd(values: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return values of a message with one of them replaced by an odd one, possibly a wrong one."""
    chance = Random(seed)
    places = [place for place in _places(values) if _replacements(place[-1])]
    if not places:
        return values
    *path, value = chance.choice(places)
    replaced: dict[str, Any] = _replaced(values, path, chance.choice(_replacements(value)))
    return replaced


def damaged(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Yield `count` damaged forms of some bytes: cut, changed, longer, shorter."""
    chance = Random(seed)
    for _ in range(count):
        attempt = _damaged_once(data, chance)
        while chance.random() < 0.25:
            attempt = _damaged_once(attempt, chance)
        yield attempt


def _damaged_once(data: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    rest = data[place:]
    hostile = chance.choice(HOSTILE)
    scribble = bytes(chance.choice(_TEXT_BORDERS) for _ in range(chance.randrange(1, 7)))
    behind = (
        b"",
        bytes([chance.randrange(256)]) + rest[1:],
        hostile + rest,
        hostile + rest[len(hostile) :],
        rest[chance.randrange(1, 5) :],
        scribble + rest[len(scribble) :],
        rest[: chance.randrange(1, 9)] + rest,
    )
    return data[:place] + chance.choice(behind)


def _places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield each value within a value: the way to it, and the value."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "unknown_tags":
                yield from _places(item, *path, key)
        return
    if path:
        yield *path, value
    if isinstance(value, tuple):
        for index, item in enumerate(value[:3]):
            yield from _places(item, *path, index)


def _replacements(value: Any) -> tuple[Any, ...]:
    match value:
        case str():
            return (*ODD_TEXTS, None)
        case bytes() if len(value) != 16:  # An id is 16 bytes, and cannot be anything else in Java.
            return (b"", bytes(126), bytes(127), bytes(128), bytes(16383), None)
        case (first, *_):
            return ((), None, (first,) * 126, (first,) * 127, (first,) * 128)
        case ():
            return (None,)
        case _:
            return ()


def _replaced(value: Any, path: list[Any], new: Any) -> Any:
    if not path:
        return new
    first, *rest = path
    if isinstance(value, dict):
        return value | {first: _replaced(value[first], rest, new)}
    return (*value[:first], _replaced(value[first], rest, new), *value[first + 1 :])
