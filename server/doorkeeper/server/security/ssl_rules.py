"""``ssl.principal.mapping.rules``: maps a certificate's distinguished name to a user name.

    RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^CN=(.*?),.*$/$1@example/L, DEFAULT

The first rule whose pattern matches the whole name applies; ``/L`` and ``/U`` at the end change the
case of the result; DEFAULT returns the name unchanged. Without a matching rule the client is
refused.

Source: Kafka's ``SslPrincipalMapper`` (4.3.1), including its treatment of back references to groups
that do not exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from doorkeeper.base.values import INT_MAX, trim
from doorkeeper.server.security.java_regex import JavaPattern, PatternError

_RULE: Final = r"(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_RULES = JavaPattern(rf"\s*({_RULE})\s*(,\s*|$)")
_ONE_RULE = JavaPattern(_RULE)
_BACK_REFERENCE = re.compile(r"\$([0-9]+)")


class NoMatchingRule(Exception):
    """No rule matches the name; the client is refused."""


class Rule(Struct, frozen=True):
    """One rule; without a pattern it is DEFAULT. ``case`` is "L", "U" or ""."""

    pattern: JavaPattern | None = None
    replacement: str = ""
    case: str = ""

    def __str__(self) -> str:
        if self.pattern is None:
            return "DEFAULT"
        case = f"/{self.case}" if self.case else ""
        return f"RULE:{self.pattern.text}/{self.replacement}{case}"

    @property
    def written(self) -> str:
        """Return the rule as it is written in a configuration; Kafka's text lacks a slash."""
        if self.pattern is None:
            return "DEFAULT"
        return f"RULE:{self.pattern.text}/{self.replacement}/{self.case}"

    def name(self, distinguished_name: str) -> str | None:
        """Return the user name, or None if the rule does not match.

        Raises:
            TimeoutError: the pattern takes too long on this name.
            ValueError: the replacement is invalid in Java.
        """
        if self.pattern is None:
            return distinguished_name
        if not self.pattern.matches(distinguished_name):
            return None
        replacement = _with_literal_references(self.replacement, self.pattern.groups)
        name = self.pattern.replace(distinguished_name, replacement)
        if self.case:
            return name.lower() if self.case == "L" else name.upper()
        return name


class SslRules:
    """The rules of a listener, in order."""

    __slots__ = ("rules",)

    def __init__(self, text: str) -> None:
        self.rules = tuple(_rules_of(text))

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.rules))}]"

    def name(self, distinguished_name: str) -> str:
        """Return the user name that the first matching rule gives.

        Raises:
            NoMatchingRule: no rule matches.
            TimeoutError, ValueError: see Rule.name.
        """
        for _, name in self.trials(distinguished_name):
            if name is not None:
                return name
        raise NoMatchingRule(f"No rules apply to {distinguished_name}, rules {self}")

    def trials(self, distinguished_name: str) -> Iterator[tuple[str, str | None]]:
        """Yield each rule and what it makes of a name, up to the first that matches; None if not.

        Raises:
            TimeoutError, ValueError: see Rule.name.
        """
        for rule in self.rules:
            name = rule.name(distinguished_name)
            yield rule.written, name
            if name is not None:
                return

    @property
    def texts(self) -> list[str]:
        """Return the rules as texts, in order."""
        return [rule.written for rule in self.rules]


def _rules_of(text: str) -> Iterator[Rule]:
    for match in _RULES.find_all(trim(text)):
        rule = match.group(1)
        parsed = _ONE_RULE.looking_at(rule)
        if parsed is None:
            raise ValueError(f"Invalid rule: {rule}")
        if parsed.end() != len(rule):
            raise ValueError(
                f"Invalid rule: `{rule}`, unmatched substring: `{rule[parsed.end() :]}`"
            )
        if parsed.group(1) is not None:
            yield Rule()
        elif parsed.group(2) is not None:
            try:
                pattern = JavaPattern(parsed.group(2))
            except PatternError as error:
                raise ValueError(f"Invalid rule: `{rule}`: {error}") from None
            yield Rule(pattern, parsed.group(4), parsed.group(6))


def _with_literal_references(replacement: str, groups: int) -> str:
    """Return a replacement in which references to missing groups are escaped.

    As in Kafka, with several of them the offsets are those in the text before the first change. A
    pattern without groups leaves the replacement unchanged.
    """
    if not groups:
        return replacement
    value = replacement
    for match in _BACK_REFERENCE.finditer(replacement):
        if match[1].startswith("0"):
            continue
        group = int(match[1])
        if group > INT_MAX:
            raise ValueError("the replacement refers to a group number that Java does not support")
        # Java would take $12 as group 1 and "2" if there are fewer than 12 groups.
        while group > groups and group >= 10:
            group //= 10
        if group > groups:
            at = match.start()
            value = f"{value[:at]}\\{value[at:]}"
    return value
