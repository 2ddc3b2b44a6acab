"""Passwords with letters that readers of files change, and how they are written in each file."""

from __future__ import annotations

from typing import NamedTuple


class WrittenPassword(NamedTuple):
    """A password, and what is written for it; empty where it cannot be written.

    ``jaas`` and ``properties`` are the text after ``password=`` in a JAAS file, and in
    ``sasl.jaas.config`` of a properties file; ``shell`` is a word of a command line.
    """

    what: str
    password: str
    jaas: str
    properties: str
    shell: str


ROWS = (
    WrittenPassword("a letter, a digit, `_` or `-`", "ab_1-c", '"ab_1-c"', '"ab_1-c"', "ab_1-c"),
    WrittenPassword("a backslash", r"a\b", r'"a\\b"', r'"a\\\\b"', r"'a\b'"),
    WrittenPassword("a double quote", 'a"b', r'"a\"b"', r'"a\\"b"', "'a\"b'"),
    WrittenPassword("a single quote", "a'b", '"a\'b"', '"a\'b"', "'a'\\''b'"),
    WrittenPassword("a blank", "a b", '"a b"', '"a b"', "'a b'"),
    WrittenPassword("`;` or `=`", "a;b=c", '"a;b=c"', '"a;b=c"', "'a;b=c'"),
    WrittenPassword("`#` or `!`", "#a!b", '"#a!b"', '"#a!b"', "'#a!b'"),
    WrittenPassword("`/`", "a/b//c", '"a/b//c"', '"a/b//c"', "a/b//c"),
    WrittenPassword("a dollar sign", "a$b", '"a$b"', '"a$b"', "'a$b'"),
    WrittenPassword("`${` and `}`", "a${b}", "", '"a${b}"', "'a${b}'"),
    WrittenPassword("a letter outside of ASCII", "aöb", '"aöb"', '"a\\u00f6b"', "'aöb'"),
)
"""A dollar sign before a brace names a Java property in a JAAS file, and cannot be quoted."""
