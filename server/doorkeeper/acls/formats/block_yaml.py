"""Block YAML as people write it: ``write_items`` writes records, ``read_items`` reads them back.

      - resourceType: TOPIC
        name: orders
        principal: User:alice
        operation: [READ, DESCRIBE]

A text stands plain where all readers take it as that text, YAML 1.1 and 1.2 alike, and in double
quotes elsewhere. Lists of texts are in one line; mappings are blocks.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

INDENT: Final = "  "
_NOT_PRINTABLE: Final = re.compile(
    "[^\t -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Characters that YAML escapes: non-printable ones, and its additional line breaks."""
_ADDRESS: Final = r"\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?"
_LETTERS: Final = "[A-Za-z0-9_./=*,@+-]"
_PLAIN_TEXT: Final = (
    rf"(?:[A-Za-z_]{_LETTERS}*+(?:(?::|[ ](?=[A-Za-z0-9_])){_LETTERS}++)*+|{_ADDRESS})"
)
_PLAIN: Final = re.compile(_PLAIN_TEXT)
_WORD: Final = re.compile(r"[A-Z_]+")
_NOT_TEXTS: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Plain words that are truth values or null for some readers, in any case."""
_VALUE: Final = rf'("(?:[^"\\\n]|\\.)*"|{_PLAIN_TEXT}|\[[A-Z_]+(?:, [A-Z_]+)*\])'
_MEMBER: Final = re.compile(rf"(  - |    )([A-Za-z]+): {_VALUE}\n")


def write_items(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the text of each mapping as an item of a list, with its line end."""
    for item in items:
        first, *others = _lines(item)
        yield "\n".join((f"{INDENT}- {first}", *(f"{INDENT}  {line}" for line in others))) + "\n"


def _lines(mapping: Mapping[str, Any]) -> Iterator[str]:
    for word, value in mapping.items():
        if isinstance(value, dict):
            yield f"{_scalar(word)}:" if value else f"{_scalar(word)}: {{}}"
            yield from (f"{INDENT}{line}" for line in _lines(value))
        elif isinstance(value, list):
            yield f"{_scalar(word)}: [{', '.join(map(_in_list, value))}]"
        else:
            yield f"{_scalar(word)}: {_scalar(value)}"


def _scalar(value: str | float) -> str:
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) is not None and value.lower() not in _NOT_TEXTS
        return value if is_plain else _quoted(value)
    text = json.dumps(value)
    # YAML 1.1 takes 1e-07 and 1e+17 as texts.
    return text if "." in text or isinstance(value, int) else text.replace("e", ".0e")


def _in_list(value: str) -> str:
    """Return a text in a list, where a comma would end it."""
    is_plain = _WORD.fullmatch(value) is not None and value.lower() not in _NOT_TEXTS
    return value if is_plain else _quoted(value)


def _quoted(text: str) -> str:
    text = json.dumps(text, ensure_ascii=False)
    return _NOT_PRINTABLE.sub(lambda match: f"\\U{ord(match[0]):08X}", text)


def read_items(text: str, start: int) -> list[dict[str, str | list[str]]] | None:
    """Return the items of a list of flat records from an offset to the end of a text.

    Several times as fast as libyaml. None if anything is not as ``write_items`` writes it.
    """
    items: list[dict[str, str | list[str]]] = []
    item: dict[str, str | list[str]] | None = None
    read: dict[str, str | list[str] | None] = {}
    size = 0
    for prefix, word, written in _MEMBER.findall(text, start):
        if prefix == "  - ":
            item = {}
            items.append(item)
        if written not in read:
            read[written] = _value(written)
        value = read[written]
        if item is None or value is None or word in item:
            return None
        item[word] = value
        size += len(word) + len(written)
    # What lies between matches is not as it is written.
    whole = size + sum(map(len, items)) * len("    : \n")
    return items if whole == len(text) - start else None


def _value(written: str) -> str | list[str] | None:
    """Return the value of a text that ``_VALUE`` matches; None if it may be something else."""
    if written[0] == "[":
        words = written[1:-1].split(", ")
        return None if _NOT_TEXTS.intersection(map(str.lower, words)) else words
    if written[0] != '"':
        return None if written.lower() in _NOT_TEXTS else written
    if "\\" not in written:
        return written[1:-1] if written.isprintable() else None
    try:
        text = json.loads(written)
    except ValueError:
        return None
    return text if isinstance(text, str) else None
