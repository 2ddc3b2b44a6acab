"""JSON that others wrote: the parts of a token, and sets of keys.

Python's parser takes more than JSON (``NaN``), and gives up on deep nesting and long numbers with
errors of its own; here everything that is not taken is one ValueError, which shows nothing of the
text.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Final, NoReturn

NUMBER_CHARACTERS_MAX: Final = 1000
"""As long a number may be: Jackson's bound, which Kafka has too."""

_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*")
_BYTE_ORDER_MARK: Final = "\ufeff"
_WHITE_SPACE: Final = " \t\r\n"


class InvalidJson(ValueError):
    """The text is no JSON object, or not encoded as it must be."""


def decoded(part: str) -> bytes:
    """Return the bytes of base64 for URLs, without padding.

    Raises:
        InvalidJson: it is something else.

    """
    if _BASE64URL.fullmatch(part) is None or len(part) % 4 == 1:
        raise InvalidJson("malformed Base64 URL encoded value")
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def json_object(data: bytes) -> dict[str, object]:
    """Return an object, whose members must have names of their own, and nothing may follow.

    Raises:
        InvalidJson: it is something else.

    """
    text = _text(data)
    found, end = _scanned(_STRICT, text)
    if text[end:].strip(_WHITE_SPACE):
        raise InvalidJson("something follows the JSON object")
    return found


def lenient_json_object(data: bytes) -> dict[str, object]:
    """Return an object as Jackson reads it for Kafka: the last of members with one name counts.

    What follows the object is not looked at.

    Raises:
        InvalidJson: it does not begin with an object.

    """
    return _scanned(_LENIENT, _text(data).removeprefix(_BYTE_ORDER_MARK))[0]


def is_unicode(text: str) -> bool:
    """Say whether a text has no half of a pair of surrogates, which JSON can write."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJson("malformed UTF-8") from error


def _scanned(decoder: json.JSONDecoder, text: str) -> tuple[dict[str, object], int]:
    start = len(text) - len(text.lstrip(_WHITE_SPACE))
    try:
        found, end = decoder.raw_decode(text, start)
    except InvalidJson:
        raise
    except (ValueError, RecursionError):
        # The error of the parser holds the whole text.
        raise InvalidJson("malformed JSON") from None
    if not isinstance(found, dict):
        raise InvalidJson("the JSON value is no object")
    return found, end


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidJson("a name stands twice in a JSON object")
    return found


def _integer(text: str) -> int:
    if len(text) > NUMBER_CHARACTERS_MAX:
        raise InvalidJson("a number is too long")
    return int(text)


def _decimal(text: str) -> float:
    if len(text) > NUMBER_CHARACTERS_MAX:
        raise InvalidJson("a number is too long")
    return float(text)


def _no_number(_: str) -> NoReturn:
    raise InvalidJson("malformed JSON")


_LENIENT: Final = json.JSONDecoder(
    parse_int=_integer, parse_float=_decimal, parse_constant=_no_number
)
_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_integer,
    parse_float=_decimal,
    parse_constant=_no_number,
)
