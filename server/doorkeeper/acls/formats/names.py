"""Parses the words of all formats, in any case, with or without underscores.

    Topic, TOPIC, topic        ResourceType.TOPIC
    TransactionalId            ResourceType.TRANSACTIONAL_ID
    DescribeConfigs            AclOperation.DESCRIBE_CONFIGS

Source: ``SecurityUtils.operation`` and its neighbours; ``toPascalCase`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import cache
from reprlib import Repr
from typing import Any, TypeVar

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.validation import unencodable

E = TypeVar("E", bound="IntEnum")


_STORED = (PatternType.LITERAL.name, PatternType.PREFIXED.name)
_SECRET = re.compile("password|secret|token|credential|jaas|keystore.key", re.IGNORECASE)
_ASSIGNED = re.compile(rf"(?:{_SECRET.pattern})[\"']?\s*[=:]", re.IGNORECASE)
_EXPRESSIONS = ("MATCH", "REGEX", "REGEXP", "PATTERN", "WILDCARD", "GLOB")


class FormatError(ValueError):
    """A text is malformed; ``line`` counts from 1, 0 if there is none.

    ``path`` leads to the faulty part of a document: names of members, and indexes of items.
    """

    def __init__(self, text: str, line: int = 0, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(f"line {line}: {text}" if line else text)
        self.line = line
        self.path = path

    def at(self, path: tuple[str | int, ...], prefix: str = "") -> FormatError:
        """Return this error for a part of a larger document."""
        return FormatError(f"{prefix}{self}", path=(*path, *self.path))


class NoAcls(FormatError):
    """A file of another tool holds no ACLs; in a folder it is passed over."""


def check_words(
    words: Iterable[object],
    allowed: Sequence[str],
    path: tuple[str | int, ...] = (),
    prefix: str = "",
) -> None:
    """Refuse other words of a mapping than the allowed ones, with the nearest one."""
    unknown = [word for word in words if word not in allowed]
    if unknown:
        text = ", ".join(sorted(map(short_text, unknown)))
        raise FormatError(
            f"{prefix}unknown: {text}; allowed: {', '.join(allowed)}"
            f"{suggestion(str(unknown[0]), allowed)}",
            path=(*path, str(unknown[0])),
        )


def suggestion(word: str, allowed: Iterable[str]) -> str:
    """Return the end of an error: the allowed word that is nearest to a wrong one, if one is."""
    from difflib import get_close_matches

    folded = {candidate.casefold(): candidate for candidate in allowed}
    near = get_close_matches(word.casefold(), folded, n=1)
    return f"; did you mean {folded[near[0]]}?" if near else ""


def mismatch(value: object, expected: str, field: str = "") -> str:
    """Return the text of an error: the field, what was found there, and what is expected.

    A value is short. Of a secret only the type is shown: where the field, what is expected, or the
    member of a mapping has such a name, and of a text that assigns one.
    """
    description = type(value).__name__ if _SECRET.search(f"{field} {expected}") else short(value)
    return f"{field and f'{field}: '}found {description}; expected: {expected}"


def wrong(
    value: object, expected: str, field: str = "", path: tuple[str | int, ...] = ()
) -> FormatError:
    """Return the error of a value; without a path the field is the member of a mapping."""
    return FormatError(mismatch(value, expected, field), path=path or ((field,) if field else ()))


class _Short(Repr):
    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        shown = {word: type(x[word]) if _SECRET.search(str(word)) else x[word] for word in x}
        return super().repr_dict(shown, level)

    def repr_str(self, x: str, level: int) -> str:
        return "str" if _ASSIGNED.search(x) else super().repr_str(x, level)


def short(value: object) -> str:
    """Return a value for an error: aliases of YAML can make a small text a huge value."""
    printer = _Short()
    # Of each level there are six items, so that more levels would not be short.
    printer.maxlevel = 2
    return printer.repr(value)


def short_text(value: object) -> str:
    """Return a word of a document for an error."""
    return value if isinstance(value, str) else short(value)


def resource_type(text: str) -> ResourceType:
    return _member(ResourceType, text, "resource type")


def pattern_type(text: str) -> PatternType:
    """Return the pattern type with a name; MATCH and ANY are for filters."""
    word = text.strip().upper()
    if word in _STORED:
        return PatternType[word]
    why = ""
    if word in _EXPRESSIONS:
        why = (
            "; brokers do not support regular expressions. To create one ACL per name, list the"
            " names: kafka-topics.sh --list | grep -E EXPRESSION > names.txt"
        )
    raise FormatError(
        f"pattern type: found {text!r}; allowed: {', '.join(_STORED)}"
        f"{why or suggestion(text, _STORED)}"
    )


def operation(text: str) -> AclOperation:
    return _member(AclOperation, text, "operation")


def permission_type(text: str) -> AclPermissionType:
    return _member(AclPermissionType, text, "permission type")


def binding_of(
    *,
    resource: str,
    name: str,
    pattern: str,
    principal: str,
    host: str,
    does: str,
    permission: str,
) -> AclBinding:
    """Return the binding with these parts, as a cluster may have it.

    Old brokers stored principals without a type and empty hosts: what is only read has them too.
    What will be written is checked by ``doorkeeper.acls.validation.unstorable``.
    """
    binding = AclBinding(
        ResourcePattern(resource_type(resource), name, pattern_type(pattern)),
        AccessControlEntry(principal, host, operation(does), permission_type(permission)),
    )
    if not name:
        raise FormatError("Resource name should not be empty")
    fault = unencodable(binding)
    if fault is not None:
        raise FormatError(str(fault))
    return binding


def _member(kind: type[E], text: str, what: str) -> E:
    words: dict[str, E] = _words(kind)
    known = words.get(text) or words.get(text.strip().upper().replace("_", "").replace("-", ""))
    if known is not None:
        return known
    allowed = [member.name for member in kind if member > 1]
    raise FormatError(
        f"{what}: found {text!r}; allowed: {', '.join(allowed)}{suggestion(text, allowed)}"
    )


@cache
def _words(kind: type[IntEnum]) -> dict[str, Any]:
    """Return the members by name, as Kafka writes them and without underscores."""
    members = [member for member in kind if member > 1]
    bare = {member.name.replace("_", ""): member for member in members}
    return bare | {member.name: member for member in members}
