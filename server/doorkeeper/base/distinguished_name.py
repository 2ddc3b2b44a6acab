r"""The distinguished name of a certificate's subject as Java prints it (RFC 2253).

    CN=alice,OU=Service Users,O=Example\, Inc,C=DE

Attributes come in the order of RFC 2253, the last of the certificate first. Nine of them have a
keyword; any other is printed as its number and ``#`` with the value's bytes in hexadecimal, and so
is a value that is not a string. Rules and ACLs are written for exactly this text.

Source: ``X500Principal.getName()`` of JDK 17: its ``X500Name``, ``RDN`` and ``AVA``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from doorkeeper_wire.java_text import JAVA

_OBJECT_IDENTIFIER: Final = 0x06
_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_VERSION: Final = 0xA0

KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""The keywords that Java prints, by object identifier."""

# UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString. Java reads the bytes
# of all of them as UTF-8, which gives a BMPString a NUL before each letter of ASCII.
_STRINGS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
_ESCAPED: Final = frozenset(',=+<>#;"\\')
_SPACE: Final = " \r"

# Java's bound, too.
_IDENTIFIER_BYTES_MAX: Final = 4096


class NotDer(ValueError):
    """The bytes are not the DER of a certificate or a name."""


class _Element(Struct, frozen=True):
    """One DER element: its tag, its contents, and all its bytes."""

    tag: int
    contents: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """Return the name of a certificate's subject."""
    (whole,) = _exactly(_elements(certificate), _SEQUENCE)
    signed = next(_with_tag(_elements(whole.contents), _SEQUENCE), None)
    fields = [] if signed is None else list(_elements(signed.contents))
    if fields and fields[0].tag == _VERSION:
        # The version is present from X.509 v2 on: in v1 certificates the serial number comes first.
        del fields[0]
    # serial number, algorithm, issuer, validity, subject
    if len(fields) < 5:
        raise NotDer("the certificate has no subject")
    return name_of(fields[4].whole)


def name_of(name: bytes) -> str:
    """Return a name (the DER of ``Name``) as text."""
    (sequence,) = _exactly(_elements(name), _SEQUENCE)
    names = [_relative_name(element) for element in _with_tag(_elements(sequence.contents), _SET)]
    return ",".join(reversed(names))


def _relative_name(relative: _Element) -> str:
    """Return one relative name; its attributes, if several, are joined by plus signs."""
    return "+".join(map(_attribute, _with_tag(_elements(relative.contents), _SEQUENCE)))


def _attribute(attribute: _Element) -> str:
    parts = list(_elements(attribute.contents))
    if len(parts) != 2 or parts[0].tag != _OBJECT_IDENTIFIER:
        raise NotDer("an attribute of the name is not an identifier and a value")
    identifier = _identifier(parts[0].contents)
    keyword = KEYWORDS.get(identifier)
    # The value is printed in full, tag and length included, as AVA.toRFC2253String does.
    value = parts[1]
    if keyword is None or value.tag not in _STRINGS:
        return f"{keyword or identifier}=#{value.whole.hex()}"
    return f"{keyword}={_escape(value.contents.decode('utf-8', JAVA))}"


def _escape(text: str) -> str:
    marked = "".join(
        f"\\{character}" if character in _ESCAPED else "\\00" if character == "\0" else character
        for character in text
    )
    lead = len(marked) - len(marked.lstrip(_SPACE))
    trail = len(marked) - len(marked.rstrip(_SPACE))
    if lead == len(marked):
        # A value of blanks only is escaped throughout; Java escapes leading and trailing blanks.
        return "".join(f"\\{character}" for character in marked)
    end = len(marked) - trail
    before = "".join(f"\\{character}" for character in marked[:lead])
    after = "".join(f"\\{character}" for character in marked[end:])
    return before + marked[lead:end] + after


def _identifier(contents: bytes) -> str:
    """Return an object identifier in dotted form."""
    if not contents or contents[-1] & 0x80 or len(contents) > _IDENTIFIER_BYTES_MAX:
        raise NotDer("an object identifier is truncated")
    numbers: list[int] = []
    number, begins = 0, True
    for byte in contents:
        if begins and byte == 0x80:
            raise NotDer("an object identifier has a padded number")
        number = number << 7 | byte & 0x7F
        begins = not byte & 0x80
        if begins:
            numbers.append(number)
            number = 0
    # The first number encodes two arcs: 40 * (0, 1 or 2) + the second (X.690, 8.19.4).
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _with_tag(elements: Iterator[_Element], tag: int) -> Iterator[_Element]:
    for element in elements:
        if element.tag != tag:
            raise NotDer(f"found an element with tag {element.tag:#04x}; allowed: {tag:#04x}")
        yield element


def _exactly(elements: Iterator[_Element], tag: int) -> list[_Element]:
    matching = list(_with_tag(elements, tag))
    if len(matching) != 1:
        raise NotDer(f"found {len(matching)} elements; allowed: one")
    return matching


def _elements(data: bytes) -> Iterator[_Element]:
    at = 0
    while at < len(data):
        begin, length_at = at, at + 1
        # A tag of 0x1F in the low bits continues in further bytes; certificates have none such.
        if data[at] & 0x1F == 0x1F or length_at >= len(data):
            raise NotDer("an element has no length, or a long tag")
        length, contents_at = _length(data, length_at)
        at = contents_at + length
        if at > len(data):
            raise NotDer(f"found {len(data) - contents_at} of {length} bytes of an element")
        yield _Element(data[begin], data[contents_at:at], data[begin:at])


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Return a length and the offset of the contents."""
    first = data[at]
    if first < 0x80:
        return first, at + 1
    count = first & 0x7F
    digits = data[at + 1 : at + 1 + count]
    # DER forbids the indefinite form (0x80), and leading zero bytes; 4 bytes exceed any input.
    if not 1 <= count <= 4 or len(digits) < count or digits[0] == 0:
        raise NotDer("the length of an element is not valid DER")
    length = int.from_bytes(digits)
    if length < 0x80:
        raise NotDer("the length of an element is not in its shortest form")
    return length, at + 1 + count
