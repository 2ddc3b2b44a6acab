"""Principals as authorizers log them, and as ACLs have them.

Kafka decides by type and name, and some authorizers log what ``toString`` of a subclass prints:

    User:svc                                             Kafka's own
    OAuthKafkaPrincipal(User:svc, session:7, token:e**A)  Strimzi's: ``User:svc``
    CustomPrincipal{token=...} User:svc                  not taken apart: may be ``User:svc``
    User:svc,Roles:admin                                 a name of Kafka's, or ``User:svc``
    user:svc                                             a type of its own to Kafka, or ``User:svc``

A text that can be taken apart in one way only is normalised. Otherwise ``alternatives`` are the
principals that the request may have been of: their grants may be in use.

Source: ``KafkaPrincipal``; ``StandardAuthorizerData.baseKafkaPrincipal``; Strimzi's
``OAuthKafkaPrincipal.toString``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from msgspec import Struct

PRINCIPALS_MAX = 1 << 16
"""Distinct texts that a process remembers: some 20 MB."""

PLAIN = "[A-Za-z][A-Za-z0-9_-]*:"
"""How a principal begins that is not printed as an object: an expression, also for Polars."""

_PLAIN = re.compile(PLAIN)
_TYPE = "User"
_OBJECT = re.compile(
    rf"[A-Za-z][\w.$]*(?:\(({PLAIN}.*)\)|\[({PLAIN}.*)\]|\{{({PLAIN}.*)\}})\Z", re.DOTALL
)
_FIELD = re.compile(r", ?([A-Za-z_]\w*) ?([:=])")
_NAMED = re.compile(r"\b(?:principal|name|user|userName) ?[:=] ?'?((?:User:)?[^,'\"\])}\s]+)")
_INNER = re.compile(rf"(?<![\w.$])((?:(?i:{_TYPE})|[A-Z][A-Za-z]*):[^\s,'\"()\[\]{{}}]+)")
_DN_ATTRIBUTE = re.compile(r"[A-Za-z]+=")
_HIDDEN = ("Cc", "Cf", "Co")
"""Categories of letters without a shape: zero-width ones, marks of direction, byte order marks."""


class LoggedPrincipal(Struct, frozen=True):
    """A principal of a log; ``principal`` is empty where the text cannot be taken apart.

    ``alternatives`` are other principals that the text may mean.
    """

    principal: str
    alternatives: frozenset[str] = frozenset()


@lru_cache(PRINCIPALS_MAX)
def read(text: str) -> LoggedPrincipal:
    """Return the principal that a text of a log means."""
    if _PLAIN.match(text):
        return LoggedPrincipal(text, _alternatives(text))
    match = _OBJECT.match(text)
    if match is None:
        return LoggedPrincipal("", _named_in(text))
    inner: str = match[match.lastindex or 0]
    names = _readings(inner)
    if len(names) == 1:
        return LoggedPrincipal(names[0], _alternatives(names[0]))
    return LoggedPrincipal("", frozenset(names).union(*map(_alternatives, names)))


def _readings(inner: str) -> list[str]:
    """Return the principals that the text between the brackets of an object may begin with.

    A name may hold what looks like fields, as the parts of a distinguished name do.
    """
    fields = list(_FIELD.finditer(inner))
    if not fields:
        return [inner]
    colons = [field for field in fields if field[2] == ":"]
    is_dn = _DN_ATTRIBUTE.match(inner.partition(":")[2]) is not None
    first = (colons if is_dn else fields)[:1]
    keys = [field[1] for field in fields if field[2] == (":" if colons else "=")]
    if first and first[0][2] == (":" if colons else "=") and len(set(keys)) == len(keys):
        return [inner[: first[0].start()]]
    return [*(inner[: field.start()] for field in fields), inner]


def _alternatives(principal: str) -> frozenset[str]:
    """Return other principals that one of the form type:name may mean."""
    principals = {_visible(principal)}
    cut = next((field for field in _FIELD.finditer(principal) if field[2] == ":"), None)
    if cut is not None:
        principals.add(principal[: cut.start()])
    for alternative in tuple(principals):
        kind, _, name = alternative.partition(":")
        if kind.casefold() == _TYPE.casefold():
            principals.add(f"{_TYPE}:{name}")
    return frozenset(principals - {principal, f"{_TYPE}:"})


def _visible(text: str) -> str:
    """Return a text as it looks: without invisible letters, with single blanks."""
    letters = (
        letter for letter in text if letter.isspace() or unicodedata.category(letter) not in _HIDDEN
    )
    return " ".join("".join(letters).split()).replace(": ", ":", 1)


def _named_in(text: str) -> frozenset[str]:
    """Return the principals that a text names which cannot be taken apart."""
    principals = {match[1] for match in _INNER.finditer(text)}
    names = {match[1] for match in _NAMED.finditer(text)}
    principals |= {name if ":" in name else f"{_TYPE}:{name}" for name in names}
    bare = _visible(text)
    if bare and not principals and re.fullmatch(r"[\w.@$-]+", bare):
        principals.add(f"{_TYPE}:{bare}")
    return frozenset(principals).union(*map(_alternatives, principals))
