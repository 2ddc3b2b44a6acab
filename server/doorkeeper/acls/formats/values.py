"""Values of documents: each reader returns what a value means, or raises a FormatError.

An error says what was found and what is expected; ``part`` adds the path to the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from doorkeeper.acls.formats.documents import Path
from doorkeeper.acls.formats.names import FormatError, check_words, short, wrong

T = TypeVar("T")


def expect(condition: object, expected: str, value: object) -> None:
    """Refuse a value unless it fulfils a condition."""
    if not condition:
        raise wrong(value, expected)


def record(value: object, allowed: Sequence[str], needed: Sequence[str] = ()) -> dict[str, Any]:
    """Return a mapping with some of the allowed words, and all of the needed ones."""
    if not isinstance(value, dict):
        raise wrong(value, f"a mapping with the keys {', '.join(needed or allowed)}")
    check_words(value, allowed)
    missing = [word for word in needed if word not in value]
    if missing:
        raise FormatError(f"missing: {', '.join(missing)}")
    return value


def check_version(document: Mapping[str, Any], version: int) -> None:
    """Refuse a document of another version."""
    value = document.get("version")
    if value != version or isinstance(value, bool):
        raise FormatError(f"version: found {short(value)}; allowed: {version}", path=("version",))


def items(reader: Callable[[Any], T], value: object) -> list[T]:
    """Return what a reader returns for each item of a list."""
    expect(isinstance(value, list), "a list", value)
    return [part(reader, index, item) for index, item in enumerate(cast("list[object]", value))]


def rows(reader: Callable[[Any], T], value: object, section: str) -> Iterator[tuple[Path, T]]:
    """Yield the path of each row of a section, and what a reader returns for it.

    Errors have the number of the row, and the path to it.
    """
    if not isinstance(value, list):
        raise wrong(value, "a list of mappings", section)
    for index, row in enumerate(value):
        try:
            yield (section, index), reader(row)
        except FormatError as error:
            prefix = f"{section.removesuffix('s')} {index + 1}: "
            raise error.at((section, index), prefix) from None


def part(reader: Callable[[Any], T], step: str | int, value: object, prefix: str = "") -> T:
    """Return what a reader returns for a part of a value; its errors have the path to it."""
    try:
        return reader(value)
    except FormatError as error:
        raise error.at((step,), prefix) from None


def member(reader: Callable[[Any], T], words: Mapping[str, Any], word: str) -> T:
    """Return what a reader returns for a member of a record; its errors name the word."""
    return part(reader, word, words[word], f"{word}: ")


def text(value: object) -> str:
    """Return a text, which is not empty."""
    expect(isinstance(value, str) and value, "a string", value)
    return str(value)


def number(low: int, high: int, value: object) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    expect(is_number, f"a whole number from {low} to {high}", value)
    return cast("int", value)
