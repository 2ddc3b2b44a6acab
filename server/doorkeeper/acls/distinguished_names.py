r"""Distinguished names as people write them, read leniently: to compare them, never to decide.

    CN=alice,OU=Sales,O=Example\, Inc          RFC 2253, as Java prints a certificate's subject
    C = DE, O = "Example, Inc", CN = alice     OpenSSL 1.1 and later, other tools
    /C=DE/O=Example, Inc/CN=alice              OpenSSL's old form
    1.2.840.113549.1.9.1=#1613616c696365...    an attribute that Java has no keyword for

A comma that no attribute follows is part of the value: people forget to escape it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from doorkeeper.base.distinguished_name import KEYWORDS

_ATTRIBUTE: Final = re.compile(
    r"\s*(?:oid\.)?([a-z][a-z0-9-]*|[0-9]+(?:\.[0-9]+)+)\s*=\s*", re.IGNORECASE
)
_SLASH: Final = re.compile(r"/(?=(?:[A-Za-z][A-Za-z0-9-]*|[0-9.]+)=)")
_SEPARATOR: Final = re.compile(r"\s*[,;+]")
_ESCAPED_BYTES: Final = re.compile(rb"\\([0-9A-Fa-f]{2})")
_STRINGS: Final = ("0c", "13", "14", "16", "1b")
"""Tags of the strings that are bytes of UTF-8 or ASCII, in hexadecimal."""

_ALIASES: Final = {
    "1.2.840.113549.1.9.1": ("E", "EMAIL", "EMAILADDRESS"),
    "2.5.4.3": ("COMMONNAME",),
    "2.5.4.4": ("SN", "SURNAME"),
    "2.5.4.5": ("SERIALNUMBER",),
    "2.5.4.6": ("COUNTRYNAME",),
    "2.5.4.7": ("LOCALITYNAME",),
    "2.5.4.8": ("S", "SP", "STATEORPROVINCENAME"),
    "2.5.4.9": ("STREETADDRESS",),
    "2.5.4.10": ("ORGANIZATIONNAME",),
    "2.5.4.11": ("ORGANIZATIONALUNITNAME",),
    "2.5.4.12": ("T", "TITLE"),
    "2.5.4.42": ("GN", "GIVENNAME"),
    "0.9.2342.19200300.100.1.1": ("USERID",),
    "0.9.2342.19200300.100.1.25": ("DOMAINCOMPONENT",),
}
_IDENTIFIERS: Final = {keyword: identifier for identifier, keyword in KEYWORDS.items()} | {
    alias: identifier for identifier, aliases in _ALIASES.items() for alias in aliases
}
NAMES_OF_A_SUBJECT: Final = frozenset(_IDENTIFIERS[kind] for kind in ("CN", "UID", "EMAILADDRESS"))
"""The identifiers of attributes that mapping rules usually shorten a subject to."""


class Attribute(NamedTuple):
    """One attribute: its keyword as written, and its value without escapes."""

    keyword: str
    value: str

    @property
    def identifier(self) -> str:
        """Return the object identifier; the keyword in upper case if it is not known."""
        return _IDENTIFIERS.get(self.keyword.upper(), self.keyword.upper())


def attributes_of(text: str) -> tuple[Attribute, ...]:
    """Return the attributes of a distinguished name, in its order; none if it is none."""
    if text.startswith("/"):
        parts = _SLASH.split(text)[1:]
        return tuple(_attribute(part) for part in parts)
    attributes: list[str] = []
    for part in _parts(text):
        # The first character is the separator.
        if _ATTRIBUTE.match(part, 1):
            attributes.append(part[1:])
        elif attributes:
            attributes[-1] += part
        else:
            return ()
    return tuple(map(_attribute, attributes))


def _parts(text: str) -> list[str]:
    """Return the texts between separators that are neither escaped nor quoted, each after its own.

    A comma stands before the first, too.
    """
    parts, at, begin = [], 0, 0
    text = f",{text}"
    is_quoted = False
    while (at := at + 1) < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == '"':
            is_quoted = not is_quoted
        elif not is_quoted and (match := _SEPARATOR.match(text, at)):
            parts.append(text[begin:at])
            begin, at = match.end() - 1, match.end() - 1
    return [*parts, text[begin:]]


def _attribute(part: str) -> Attribute:
    keyword, _, value = part.partition("=")
    keyword = re.sub(r"(?i)^oid\.", "", keyword.strip())
    return Attribute(keyword, _value(value.strip()))


def _value(text: str) -> str:
    if text.startswith("#"):
        return _string_of(text[1:].lower())
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    if "\\" not in text:
        return text
    decoded = _ESCAPED_BYTES.sub(lambda match: bytes.fromhex(match[1].decode()), text.encode())
    return re.sub(r"\\(.)", r"\1", decoded.decode("utf-8", "replace"), flags=re.DOTALL)


def _string_of(digits: str) -> str:
    """Return the text of a DER string in hexadecimal; the digits if it is something else."""
    try:
        data = bytes.fromhex(digits)
        is_short_string = digits[:2] in _STRINGS and data[1] == len(data) - 2 < 0x80
        return data[2:].decode() if is_short_string else f"#{digits}"
    except (ValueError, IndexError):
        return f"#{digits}"
