"""Distinguished names as Java prints them."""

from __future__ import annotations

import pytest

from doorkeeper.base.distinguished_name import NotDer, name_of, subject_of
from testkit.oracle_names import KEYWORDS, PRINTABLE, UTF8, der, identifier, name

CN, ORGANIZATION, EMAIL = KEYWORDS["CN"], KEYWORDS["O"], "1.2.840.113549.1.9.1"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            [[(ORGANIZATION, UTF8, b"Example, Inc")], [(CN, UTF8, b"alice")]],
            r"CN=alice,O=Example\, Inc",
        ),
        ([[(CN, PRINTABLE, b"a"), (KEYWORDS["UID"], UTF8, b"b")]], "CN=a+UID=b"),
        ([[(EMAIL, 0x16, b"a@b.c")]], "1.2.840.113549.1.9.1=#16056140622e63"),
        ([[(CN, 0x1E, b"\0a\0b")]], r"CN=\00a\00b"),
        ([[(CN, 0x1C, b"\0\0\0a")]], "CN=#1c0400000061"),
        ([[(CN, UTF8, b'="#<>;+\\')]], r"CN=\=\"\#\<\>\;\+\\"),
        ([[(CN, UTF8, b"  a b \r")]], "CN=\\ \\ a b\\ \\\r"),
        ([[(CN, UTF8, b"  ")]], r"CN=\ \ "),
        ([[(CN, UTF8, b"\xff\xed\xa0\x80")]], "CN=\ufffd\ufffd"),
    ],
)
def test_distinguished_names_match_java(
    parts: list[list[tuple[str, int, bytes]]], text: str
) -> None:
    """Order, keywords, hexadecimal values and escapes are those of Java."""
    assert name_of(name(*parts)) == text


def test_long_der_lengths_are_read() -> None:
    assert name_of(name([(CN, UTF8, b"x" * 70_000)])) == f"CN={'x' * 70_000}"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x31\x00",
        b"\x30\x80\x00\x00",
        b"\x30\x81\x01\x00",
        b"\x1f\x01\x00",
        der(0x30, der(0x30, b"")),
        der(0x30, der(0x31, der(0x30, b"\x06\x01\x55"))),
        der(0x30, der(0x31, der(0x30, der(6, b"\x80\x01") + der(12, b"a")))),
        der(0x30, der(0x31, der(0x30, der(6, b"\x81") + der(12, b"a")))),
        der(0x30, der(0x31, der(0x30, identifier(CN)))),
        der(0x30, b"") + b"\0\0",
    ],
)
def test_invalid_der_is_rejected(data: bytes) -> None:
    with pytest.raises(NotDer):
        name_of(data)


def test_subject_is_found_in_certificate() -> None:
    fields = [der(2, b"\1"), der(0x30, b""), name(), der(0x30, b""), name([(CN, UTF8, b"a")])]

    for version in (b"", der(0xA0, der(2, b"\2"))):
        whole = der(0x30, der(0x30, version + b"".join(fields)) + der(0x30, b"") + der(3, b"\0"))
        with pytest.raises(NotDer, match="tag"):
            subject_of(der(0x30, der(0x02, b"")))
        assert subject_of(whole) == "CN=a"
    with pytest.raises(NotDer, match="has no subject"):
        subject_of(der(0x30, der(0x30, b"".join(fields[:3]))))
