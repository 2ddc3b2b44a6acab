"""JSON from untrusted sources: the parts of a token, and key sets.

Python's parser accepts more than JSON (``NaN``), and fails on deep nesting and long numbers with
various errors. Here every rejection is an InvalidJson, whose text contains nothing of the input.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Final, NoReturn

# Jackson's bound, and therefore Kafka's.
NUMBER_CHARACTERS_MAX: Final = 1000
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*")
_BYTE_ORDER_MARK: Final = "\ufeff"
_WHITE_SPACE: Final = " \t\r\n"


class InvalidJson(ValueError):
    """The text is not a JSON object, or not encoded correctly."""


def decode_base64url(part: str) -> bytes:
    """Decode base64url without padding."""
    if _BASE64URL.fullmatch(part) is None or len(part) % 4 == 1:
        raise InvalidJson("malformed Base64 URL encoded value")
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def json_object(data: bytes) -> dict[str, object]:
    """Parse an object; duplicate names and trailing text are errors."""
    text = _text(data)
    scanned, end = _scan(_STRICT, text)
    if text[end:].strip(_WHITE_SPACE):
        raise InvalidJson("found data after the JSON object")
    return scanned


def lenient_json_object(data: bytes) -> dict[str, object]:
    """Parse an object as Kafka's Jackson does: of duplicate names the last counts.

    Trailing text is ignored.
    """
    return _scan(_LENIENT, _text(data).removeprefix(_BYTE_ORDER_MARK))[0]


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJson("malformed UTF-8") from error


def _scan(decoder: json.JSONDecoder, text: str) -> tuple[dict[str, object], int]:
    start = len(text) - len(text.lstrip(_WHITE_SPACE))
    try:
        decoded, end = decoder.raw_decode(text, start)
    except InvalidJson:
        raise
    except (ValueError, RecursionError):
        # No cause: the parser's error contains the whole text.
        raise InvalidJson("malformed JSON") from None
    if not isinstance(decoded, dict):
        raise InvalidJson("the JSON value is not an object")
    return decoded, end


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise InvalidJson("duplicate name in a JSON object")
    return members


def _bounded(text: str) -> str:
    if len(text) > NUMBER_CHARACTERS_MAX:
        raise InvalidJson("a number is too long")
    return text


def _no_number(_: str) -> NoReturn:
    raise InvalidJson("malformed JSON")


_NUMBERS: Final[Any] = {
    "parse_int": lambda text: int(_bounded(text)),
    "parse_float": lambda text: float(_bounded(text)),
    "parse_constant": _no_number,
}
_LENIENT: Final = json.JSONDecoder(**_NUMBERS)
_STRICT: Final = json.JSONDecoder(object_pairs_hook=_unique, **_NUMBERS)
