"""doorkeeper_wire.java_text."""

import json
from pathlib import Path

import pytest

from doorkeeper_wire.java_text import decode_text, replace_as_java

VECTORS = Path(__file__).parents[2] / "vectors" / "java_text.json"


def test_invalid_utf_8_is_decoded_as_in_java() -> None:
    """Byte sequences around every border of UTF-8 become the text that Java makes of them."""
    rows = json.loads(VECTORS.read_text("utf-8"))

    wrong = [
        row
        for row in rows
        if " ".join(f"{ord(letter):x}" for letter in decode_text(bytes.fromhex(row["bytes"])))
        != row["points"]
    ]

    assert len(rows) > 2000
    assert wrong == []


def test_one_call_decodes_the_rest() -> None:
    """Half a megabyte of malformed bytes, as a password before the login, took a second."""
    data = b"a\xff\xffb\xed\xa0\x80\xed\xa0c\xed"
    error = UnicodeDecodeError("utf-8", data, 1, 2, "invalid start byte")

    assert replace_as_java(error) == ("\ufffd\ufffdb\ufffd\ufffdc\ufffd", len(data))


def test_encoding_is_not_supported() -> None:
    error = UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogate")

    with pytest.raises(UnicodeEncodeError):
        replace_as_java(error)
