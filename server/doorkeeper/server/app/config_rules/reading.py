r"""Rules C1: what the reader of a properties file makes of its lines.

Source: ``java.util.Properties.load(InputStream)``, ``ConfigDef.parseType`` (4.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.base.properties import CONTINUED, is_cut_pem
from doorkeeper.server.app.config_rules.keys import (
    bare_name,
    has_provider,
    is_known,
    is_secret,
    is_security_key,
    key_of,
    looks_like_a_key,
)
from doorkeeper.server.app.config_rules.node import Node
from doorkeeper.server.app.config_rules.rule import BOTH, ERROR, KAFKA, WARNING, rule
from doorkeeper.server.config.naming import resembling

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BLANKS: Final = " \t\f"
_KEY: Final = re.compile(r"((?:\\.|[^\\=:\s])*)")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_BLANK_AT_END: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[ \t\f]+$")
_MEANT: Final = frozenset("\\ :=#!u\"'\r\n")
"""Letters after a backslash that stay, or of which the backslash is not missed."""
_CONTROLS: Final = {"t": "a tab", "n": "a line break", "r": "a line break", "f": "a form feed"}
_BAD_UNICODE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})")


class _LogicalLine(NamedTuple):
    """The physical lines of one entry, without line ends and blanks before them."""

    key: str
    lines: tuple[tuple[int, str], ...]


def _logical_lines(node: Node) -> Iterator[_LogicalLine]:
    """Yield the entries of a file as they are written."""
    data = node.file.data or b""
    open_lines: list[tuple[int, str]] = []
    for number, physical in enumerate(_LINE.findall(data.decode("iso-8859-1")), 1):
        text = physical.rstrip("\r\n").lstrip(_BLANKS)
        if not open_lines and (not text or text[0] in "#!"):
            continue
        open_lines.append((number, text))
        if (len(text) - len(text.rstrip("\\"))) % 2:
            continue
        yield _made(open_lines)
        open_lines = []
    if open_lines:
        yield _made(open_lines)


def _made(lines: list[tuple[int, str]]) -> _LogicalLine:
    match = _KEY.match(lines[0][1])
    assert match is not None, "the pattern matches the empty string"
    return _LogicalLine(_ESCAPE.sub(r"\1", match[1]), tuple(lines))


def _security_lines(node: Node) -> Iterator[tuple[str, int, str]]:
    """Yield key, number and text of each line of a security key."""
    for line in _logical_lines(node):
        if is_security_key(line.key):
            for number, text in line.lines:
                yield line.key, number, text


@rule("C101", WARNING, products=BOTH)
def removed_backslash(node: Node) -> Iterator[Problem]:
    for key, number, text in _security_lines(node):
        for letter in dict.fromkeys(_ESCAPE.findall(text)):
            if letter in _MEANT:
                continue
            shown = "a letter" if is_secret(key) else letter
            written = "\\\\" if is_secret(key) else f"\\\\{letter}"
            made = _CONTROLS.get(letter)
            happens = (
                f"\\{letter} is read as {made}"
                if made and not is_secret(key)
                else f"the backslash before {shown} is removed when the file is read"
            )
            yield Problem(f"{node.name} line {number}", key, f"{happens}: write {written}")


@rule("C102", WARNING, products=BOTH)
def blank_after_backslash(node: Node) -> Iterator[Problem]:
    for line in _logical_lines(node):
        for number, text in line.lines:
            if _BLANK_AT_END.search(text):
                yield Problem(
                    f"{node.name} line {number}",
                    line.key if is_security_key(line.key) else "",
                    f"line {number} ends with a backslash and a space, so it is not continued;"
                    " remove the space",
                )


@rule("C103", WARNING, products=BOTH)
def comment_in_value(node: Node) -> Iterator[Problem]:
    for line in _logical_lines(node):
        for number, text in line.lines[1:]:
            if text.startswith(("#", "!")) and is_security_key(line.key):
                yield Problem(
                    f"{node.name} line {number}",
                    line.key,
                    "the line continues the value before it: it is part of the value, not a"
                    " comment",
                )


@rule("C104", ERROR)
def bad_unicode(node: Node) -> Iterator[Problem]:
    for line in _logical_lines(node):
        for number, text in line.lines:
            if _BAD_UNICODE.search(text):
                source = f"{node.name} line {number}"
                yield Problem(source, line.key, "a \\u is not followed by four hex digits")


@rule("C105", WARNING, products=BOTH)
def not_ascii(node: Node) -> Iterator[Problem]:
    for key, number, text in _security_lines(node):
        if not text.isascii():
            yield Problem(
                f"{node.name} line {number}",
                key,
                "non-ASCII characters are read as ISO 8859-1: write \\uXXXX for each",
            )


@rule("C106", WARNING, products=BOTH)
def repeated_key(node: Node) -> Iterator[Problem]:
    before: dict[str, Entry] = {}
    for entry in node.file.entries:
        earlier = before.get(entry.key)
        # Overrides are meant to replace.
        if earlier is not None and " line " in earlier.source and " line " in entry.source:
            key = entry.key if looks_like_a_key(entry.key) else ""
            yield Problem(entry.source, key, f"replaces the value in {earlier.source}")
        before[entry.key] = entry


@rule("C107", WARNING, products=BOTH)
def quoted_value(node: Node) -> Iterator[Problem]:
    for entry in node.entries.values():
        value = entry.value.strip()
        if is_security_key(entry.key) and len(value) > 1 and value[0] == value[-1] in "\"'":
            yield node.at(entry, "the quotation marks are part of the value: remove them")


@rule("C108", WARNING, products=BOTH)
def comment_after_value(node: Node) -> Iterator[Problem]:
    for entry in node.entries.values():
        if is_security_key(entry.key) and not is_secret(entry.key) and " #" in entry.value:
            yield node.at(entry, "the text after # is part of the value, not a comment")


@rule("C109", ERROR)
def wrong_type(node: Node) -> Iterator[Problem]:
    for entry in node.entries.values():
        key = key_of(entry.key, node)
        if key is None or not is_security_key(entry.key) or node.is_template(entry):
            continue
        # A broker ignores an empty text of some types; of numbers and booleans it does not.
        try:
            key.parse(entry.value)
        except ValueError as error:
            shown_value = "" if is_secret(entry.key) else f"found {entry.value.strip()!r}; "
            yield node.at(entry, f"{shown_value}allowed: {error}")


@rule("C110", WARNING, products=KAFKA)
def reference_without_provider(node: Node) -> Iterator[Problem]:
    if node.file.is_image:
        return
    named = set(node.words("config.providers"))
    for entry in node.entries.values():
        provider = has_provider(entry.value)
        if provider and provider not in named and is_security_key(entry.key):
            yield node.at(
                entry,
                f"config.providers does not contain {provider}: the reference itself is the value",
            )


@rule("C111", WARNING)
def mistyped_key(node: Node) -> Iterator[Problem]:
    for entry in node.entries.values():
        bare = bare_name(entry.key)
        if is_known(bare) or not bare:
            continue
        near = resembling(bare)
        if near is not None and is_security_key(near):
            full = entry.key.removesuffix(bare) + near
            yield node.at(entry, f"unknown key; did you mean {full}?")


@rule("C112", WARNING, products=BOTH)
def byte_order_mark(node: Node) -> Iterator[Problem]:
    if (node.file.data or b"").startswith(_BYTE_ORDER_MARK):
        text = "the file begins with a byte order mark, which is part of its first key"
        yield Problem(f"{node.name} line 1", "", text)


@rule("C113", ERROR)
def cut_pem(node: Node) -> Iterator[Problem]:
    for line in _logical_lines(node):
        if is_cut_pem("".join(text for _, text in line.lines)):
            number = line.lines[0][0]
            key = line.key if is_known(bare_name(line.key)) else ""
            text = f"line {number} is not continued: is this PEM? {CONTINUED}"
            yield Problem(f"{node.name} line {number}", key, text)


_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
