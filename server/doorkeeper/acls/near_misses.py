"""Principals that an authorizer takes for others, though people probably mean the same.

Kafka compares the text ``type:name`` as it is. Two that differ only in what is listed here are near
misses: an ACL for the one does nothing for the other.

    CASE         User:alice           User:Alice, user:alice
    BLANKS       User:CN=a,O=b        User:CN=a, O=b; a character that nobody sees
    UNICODE      User:josé            the é as one character, or as two
    QUOTES       User:alice           User:"alice"
    TYPE         User:alice           Group:alice, User:User:alice
    LIST         User:alice           User:alice,User:bob
    ORDER        User:CN=a,O=b        User:O=b,CN=a
    KEYWORDS     User:E=a@b,CN=c      User:EMAILADDRESS=a@b,CN=c, 1.2.840.113549.1.9.1=#...
    SEPARATORS   User:CN=a,O=b        User:/CN=a/O=b; quotes, or a comma without its escape
    PARTS        User:CN=a,O=b        User:CN=a
    WHOLE_NAME   User:a               User:CN=a,O=b
    REALM        User:a               User:a@EXAMPLE.COM, User:a/host@EXAMPLE.COM
"""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from unicodedata import category, normalize

from doorkeeper.acls.distinguished_names import (
    NAMES_OF_A_SUBJECT,
    Attribute,
    attributes_of,
)
from doorkeeper.acls.model import WILDCARD_PRINCIPAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.snapshot import Snapshot


class Difference(Enum):
    """A difference between two principals; the value completes "differs in"."""

    CASE = "upper and lower case"
    BLANKS = "whitespace or invisible characters"
    UNICODE = "Unicode normalization"
    QUOTES = "quotation marks"
    TYPE = "the principal type"
    LIST = "a list instead of one principal"
    ORDER = "the order of the components of a distinguished name"
    KEYWORDS = "the name of an attribute: E, EMAILADDRESS or 1.2.840.113549.1.9.1"
    SEPARATORS = "escapes or separators in a distinguished name"
    PARTS = "the number of components of a distinguished name"
    WHOLE_NAME = "the full distinguished name, to which no mapping rule was applied"
    REALM = "a host or realm after the name, which no mapping rule removed"


class NearMiss(NamedTuple):
    """A principal that is nearly the one in question, and its differences."""

    principal: str
    differences: tuple[Difference, ...]


INVISIBLE: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
"""The categories of letters that nobody sees."""

NEXT_PRINCIPAL: Final = re.compile(r"\s*[,;]\s*(?=\w+:)")
"""What stands between principals, where several are written into one."""

KEPT_MAX: Final = 1 << 16
"""Principals whose keys a process keeps."""


def near_misses(principal: str, others: Iterable[str]) -> list[NearMiss]:
    """Return the near misses among other principals, the nearest first.

    Cost: microseconds for each of them, tens of microseconds for a distinguished name.
    """
    keys = _keys(principal)
    misses = []
    for other in set(others) - {principal, WILDCARD_PRINCIPAL}:
        if keys.isdisjoint(_keys(other)):
            continue
        differences = differences_between(principal, other)
        if differences:
            misses.append(NearMiss(other, differences))
    return sorted(misses, key=lambda miss: (len(miss.differences), miss.principal))


def principals_of(snapshot: Snapshot, policy: Policy) -> set[str]:
    """Return the principals that ACLs and ``super.users`` name."""
    named = {principal for index in snapshot.types for principal in index.principals}
    return named | policy.super_users


def differences_between(one: str, other: str) -> tuple[Difference, ...]:
    """Return the differences of two near principals; none if they are equal, or not near."""
    if one == other:
        return ()
    if _is_in_list(one, other) or _is_in_list(other, one):
        return (Difference.LIST,)
    (type_1, name_1), (type_2, name_2) = _split(one), _split(other)
    differences: list[Difference] = []
    if type_1 != type_2:
        differences += _textual(type_1, type_2) or [Difference.TYPE]
    elif _is_typed_twice(one) != _is_typed_twice(other):
        differences.append(Difference.TYPE)
    if any(_unquoted(text) != text for text in (one, other, name_1, name_2)):
        name_1, name_2 = _unquoted(name_1), _unquoted(name_2)
        differences.append(Difference.QUOTES)
    if name_1 != name_2:
        of_names = _of_names(name_1, name_2)
        if not of_names:
            return ()
        differences += of_names
    return tuple(dict.fromkeys(differences))


def _of_names(one: str, other: str) -> list[Difference]:
    textual = _textual(one, other)
    if textual:
        return textual
    subject_1, subject_2 = attributes_of(one), attributes_of(other)
    if subject_1 and subject_2:
        return _of_subjects(subject_1, subject_2)
    for subject, name in ((subject_1, other), (subject_2, one)):
        if subject:
            return _of_subject_and_name(subject, name)
    # Two realms are two people.
    for whole, name in ((one, other), (other, one)):
        short = re.split("[/@]", whole)[0]
        if short != whole and _loose(short) == _loose(name):
            return [Difference.REALM, *_textual(short, name)]
    return []


def _of_subjects(one: Sequence[Attribute], other: Sequence[Attribute]) -> list[Difference]:
    loose_1, loose_2 = list(map(_comparable, one)), list(map(_comparable, other))
    count_1, count_2 = Counter(loose_1), Counter(loose_2)
    differences = []
    if count_1 != count_2:
        if not (count_1 <= count_2 or count_2 <= count_1):
            return []
        differences.append(Difference.PARTS)
    common = count_1 & count_2
    if [key for key in loose_1 if key in common] != [key for key in loose_2 if key in common]:
        differences.append(Difference.ORDER)
    written: dict[tuple[str, str], Attribute] = dict(zip(loose_2, other, strict=True))
    for loose, attribute in zip(loose_1, one, strict=True):
        if loose in written:
            differences += _of_attributes(attribute, written[loose])
    return differences or [Difference.SEPARATORS]


def _of_attributes(one: Attribute, other: Attribute) -> list[Difference]:
    differences = _textual(one.value, other.value)
    if one.keyword.upper() != other.keyword.upper():
        return [Difference.KEYWORDS, *differences]
    return [*_textual(one.keyword, other.keyword), *differences]


def _of_subject_and_name(subject: Sequence[Attribute], name: str) -> list[Difference]:
    for attribute in subject:
        if attribute.identifier in NAMES_OF_A_SUBJECT and _loose(attribute.value) == _loose(name):
            return [Difference.WHOLE_NAME, *_textual(attribute.value, name)]
    return []


def _comparable(attribute: Attribute) -> tuple[str, str]:
    return attribute.identifier, _loose(attribute.value)


def _textual(one: str, other: str) -> list[Difference]:
    """Return the differences of two texts; none if they are equal, or differ in more than these."""
    if one == other or _loose(one) != _loose(other):
        return []
    composed_1, composed_2 = normalize("NFKC", one), normalize("NFKC", other)
    differences = {
        Difference.CASE: _visible(composed_1) != _visible(composed_2),
        Difference.BLANKS: composed_1.casefold() != composed_2.casefold(),
        Difference.UNICODE: _visible(one).casefold() != _visible(other).casefold(),
    }
    return [difference for difference, is_there in differences.items() if is_there]


# A caller that asks about one principal after another has the same others each time.
@lru_cache(KEPT_MAX)
def _keys(principal: str) -> frozenset[str]:
    """Return texts of which near misses share at least one."""
    keys: set[str] = set()
    for part in NEXT_PRINCIPAL.split(principal):
        name = _unquoted(_split(part)[1])
        keys |= {_loose(name), _loose(re.split("[/@]", name)[0])}
        if "=" in name:
            keys |= {
                _loose(attribute.value)
                for attribute in attributes_of(name)
                if attribute.identifier in NAMES_OF_A_SUBJECT
            }
    return frozenset(keys - {""})


def _is_in_list(principal: str, several: str) -> bool:
    parts = NEXT_PRINCIPAL.split(several)
    return len(parts) > 1 and principal in parts


def _split(principal: str) -> tuple[str, str]:
    """Return type and name, without quotation marks around both, and without a repeated type."""
    principal_type, colon, name = _unquoted(principal).partition(":")
    if not colon:
        return "", principal_type
    return principal_type, name.partition(":")[2] if _is_typed_twice(principal) else name


def _is_typed_twice(principal: str) -> bool:
    first, second, *_ = [*_unquoted(principal).split(":", 2), ""]
    return first.casefold() == second.casefold() and principal.count(":") > 1


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`"
    return text[1:-1] if is_quoted else text


def _loose(text: str) -> str:
    return _visible(normalize("NFKC", text)).casefold()


def _visible(text: str) -> str:
    """Return a text without blanks, control and format characters."""
    if text.isascii() and text.isalnum():
        return text
    return "".join(letter for letter in text if category(letter) not in INVISIBLE)
