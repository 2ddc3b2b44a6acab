"""Answers a question about all names that begin with a prefix: always, never or sometimes.

Between two patterns all names have one decision: that of the longest prefix pattern that covers
them. So one fresh name behind each prefix pattern, and each literal name, stand for all names.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acl.decision import explain
from doorkeeper.acl.model import WILDCARD, WILDCARD_PRINCIPAL, PatternType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from doorkeeper.acl.decision import Decision, Policy, Question
    from doorkeeper.acl.snapshot import Snapshot

_SUFFIXES = "xyzabcdefghijklmnopqrstuvw0123456789-_.ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The characters of names of topics; the first that no pattern has is the end of an example."""


class NamesVerdict(Enum):
    """The answer for all names."""

    ALWAYS = "always"
    NEVER = "never"
    SOMETIMES = "sometimes"


class NameCase(NamedTuple):
    """A decision, and a name that has it."""

    name: str
    decision: Decision


def name_cases(policy: Policy, snapshot: Snapshot, question: Question) -> list[NameCase]:
    """Return each decision about names that begin with that of the question, allowed ones first.

    Decisions differ by rule and binding. The shortest example comes first. Cost: a decision for
    each pattern of the principal, and of ``User:*``, behind the prefix; for each pattern at all
    with ``allow.everyone.if.no.acl.found``.
    """
    found: dict[Decision, str] = {}
    for name in sorted(_names(policy, snapshot, question), key=lambda each: (len(each), each)):
        found.setdefault(explain(policy, snapshot, question._replace(name=name)), name)
    cases = [NameCase(name, decision) for decision, name in found.items()]
    return sorted(cases, key=lambda each: not each.decision.allowed)


def verdict_of(cases: Sequence[NameCase]) -> NamesVerdict:
    """Return the answer for all names."""
    answers = {each.decision.allowed for each in cases}
    if len(answers) == 2:
        return NamesVerdict.SOMETIMES
    return NamesVerdict.ALWAYS if answers == {True} else NamesVerdict.NEVER


def _names(policy: Policy, snapshot: Snapshot, question: Question) -> set[str]:
    """Return a name for each set of names with one decision."""
    index = snapshot.types[question.resource_type]
    patterns: set[tuple[str, PatternType]] = set()
    for who in (question.principal, WILDCARD_PRINCIPAL):
        if (cells := index.principals.get(who)) is not None:
            patterns.update((name, how) for name, how, _ in cells.patterns())
    if policy.allow_everyone:
        patterns.update((name, how) for name, how, _ in index.patterns.patterns())
    # Patterns of others change no decision, unless the mere existence of an ACL does.
    prefix = question.name
    texts = sorted({name for name, _ in patterns})
    inner = {(name, how) for name, how in patterns if name.startswith(prefix)}
    found = {name for name, how in inner if how is PatternType.LITERAL and name}
    starts = {prefix, *(name for name, how in inner if how is PatternType.PREFIXED)}
    if not prefix:
        # The literal asterisk does not cover names that begin with one and go on.
        starts.add(WILDCARD)
        found.add(WILDCARD)
    if prefix == WILDCARD:
        found.add(WILDCARD)
    return found | {_fresh(start, texts) for start in starts}


def _fresh(start: str, texts: Sequence[str]) -> str:
    """Return a name behind a prefix that no longer pattern covers."""
    for suffix in _suffixes():
        name = start + suffix
        place = bisect_left(texts, name)
        # An asterisk would be another case.
        if place == len(texts) or not texts[place].startswith(name):
            return name
    raise AssertionError("there are more characters than patterns")


def _suffixes() -> Iterator[str]:
    yield from _SUFFIXES
    # Only where a pattern begins with each of them: no topic can have such a name.
    yield from map(chr, range(0x4E00, 0x10000))
