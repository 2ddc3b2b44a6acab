r"""Rules C1: what the reader of a properties file makes of its lines.

Source: ``java.util.Properties.load(InputStream)``, ``ConfigDef.parseType`` (4.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.base.key import Key
from doorkeeper.base.properties import CONTINUED, is_cut_pem
from doorkeeper.server.app.config_rules.keys import (
    bare_name,
    is_known,
    is_secret,
    is_security_key,
    looks_like_a_key,
)
from doorkeeper.server.app.config_rules.node import CONFIG_PROVIDER, Node
from doorkeeper.server.app.config_rules.rule import BOTH, ERROR, WARNING, rule
from doorkeeper.server.config.naming import LISTENER_PREFIX, declaration_of, resembling

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BLANKS: Final = " \t\f"
_KEY: Final = re.compile(r"((?:\\.|[^\\=:\s])*)")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_BLANK_AT_END: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[ \t\f]+$")
_MEANT: Final = frozenset("\\ :=#!u\"'\r\n")
"""Letters after a backslash that stay, or of which the backslash is not missed."""
_CONTROLS: Final = {"t": "a tab", "n": "a line break", "r": "a line break", "f": "a form feed"}
_BAD_UNICODE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class _Line(NamedTuple):
    """A physical line of an entry, without its end and blanks before it.

    ``key`` is that of the entry, ``is_first`` of the first of its lines.
    """

    key: str
    number: int
    text: str
    is_first: bool

    def problem(self, node: Node, text: str, key: str | None = None) -> Problem:
        shown = self.key if key is None else key
        return Problem(f"{node.name} line {self.number}", shown, text)


def _lines(node: Node) -> Iterator[_Line]:
    """Yield the lines of a file, but for comments and blank ones."""
    data, key, continues = node.file.data or b"", "", False
    for number, physical in enumerate(_LINE.findall(data.decode("iso-8859-1")), 1):
        text = physical.rstrip("\r\n").lstrip(_BLANKS)
        if not continues and (not text or text[0] in "#!"):
            continue
        if not continues:
            match = _KEY.match(text)
            assert match is not None, "the pattern matches the empty string"
            key = _ESCAPE.sub(r"\1", match[1])
        yield _Line(key, number, text, not continues)
        continues = (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _security_lines(node: Node) -> Iterator[_Line]:
    return (line for line in _lines(node) if is_security_key(line.key))


@rule("C101", WARNING, products=BOTH)
def removed_backslash(node: Node) -> Iterator[Problem]:
    for line in _security_lines(node):
        hidden = is_secret(line.key)
        for letter in dict.fromkeys(_ESCAPE.findall(line.text)):
            if letter in _MEANT:
                continue
            shown = "a letter" if hidden else letter
            happens = f"the backslash before {shown} is removed when the file is read"
            if letter in _CONTROLS and not hidden:
                happens = f"\\{letter} is read as {_CONTROLS[letter]}"
            yield line.problem(node, f"{happens}: write \\\\{'' if hidden else letter}")


@rule("C102", WARNING, products=BOTH)
def blank_after_backslash(node: Node) -> Iterator[Problem]:
    for line in _lines(node):
        if _BLANK_AT_END.search(line.text):
            text = f"line {line.number} ends with a backslash and a space, so it is not continued"
            key = line.key if is_security_key(line.key) else ""
            yield line.problem(node, f"{text}; remove the space", key)


@rule("C103", WARNING, products=BOTH)
def comment_in_value(node: Node) -> Iterator[Problem]:
    for line in _security_lines(node):
        if not line.is_first and line.text.startswith(("#", "!")):
            text = "the line continues the value before it: it is part of the value, not a comment"
            yield line.problem(node, text)


@rule("C104", ERROR)
def bad_unicode(node: Node) -> Iterator[Problem]:
    for line in _lines(node):
        if _BAD_UNICODE.search(line.text):
            yield line.problem(node, "a \\u is not followed by four hex digits")


@rule("C105", WARNING, products=BOTH)
def not_ascii(node: Node) -> Iterator[Problem]:
    for line in _security_lines(node):
        if not line.text.isascii():
            text = "non-ASCII characters are read as ISO 8859-1: write \\uXXXX for each"
            yield line.problem(node, text)


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
        key = _key_of(entry.key, node)
        if key is None or not is_security_key(entry.key) or node.is_template(entry):
            continue
        # A broker ignores an empty text of some types; of numbers and booleans it does not.
        try:
            key.parse(entry.value)
        except ValueError as error:
            shown_value = "" if is_secret(entry.key) else f"found {entry.value.strip()!r}; "
            yield node.at(entry, f"{shown_value}allowed: {error}")


def _key_of(name: str, node: Node) -> Key[object] | None:
    """Return the declaration of a key that a node reads; None for an unknown key."""
    bare = bare_name(name)
    listener = name.removeprefix(LISTENER_PREFIX).partition(".")[0]
    if bare != name and listener not in map(str.lower, node.known_listeners):
        return None
    return declaration_of(bare)


@rule("C110", WARNING)
def reference_without_provider(node: Node) -> Iterator[Problem]:
    if node.file.is_image:
        return
    named = node.words("config.providers")
    for entry in node.entries.values():
        match = CONFIG_PROVIDER.search(entry.value)
        if match is not None and match[1] not in ("", *named) and is_security_key(entry.key):
            text = (
                f"config.providers does not contain {match[1]}: the reference itself is the value"
            )
            yield node.at(entry, text)


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
    entries: list[list[_Line]] = []
    for line in _lines(node):
        if line.is_first:
            entries.append([])
        entries[-1].append(line)
    for first, *more in entries:
        if is_cut_pem("".join(line.text for line in (first, *more))):
            key = first.key if is_known(bare_name(first.key)) else ""
            text = f"line {first.number} is not continued: is this PEM? {CONTINUED}"
            yield first.problem(node, text, key)
