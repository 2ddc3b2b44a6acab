"""``ssl.principal.mapping.rules``: the name that a certificate's distinguished name gives.

    RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^CN=(.*?),.*$/$1@example/L, DEFAULT

The first rule whose pattern describes the whole name counts; ``/L`` and ``/U`` at the end change
the case of the result; DEFAULT is the name as it is. Where no rule counts, nobody is let in.

Source: Kafka's ``SslPrincipalMapper`` (4.3.1), with what it does to back references that name no
group.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.authn.java_regex import JavaPattern, PatternError

if TYPE_CHECKING:
    from collections.abc import Iterator

_RULE: Final = r"(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_RULES = JavaPattern(rf"\s*({_RULE})\s*(,\s*|$)")
_ONE_RULE = JavaPattern(_RULE)
_BACK_REFERENCE = re.compile(r"\$([0-9]+)")
_SPACE: Final = "".join(map(chr, range(33)))


class NoMatchingRule(Exception):
    """No rule describes the name; who has it is refused."""


class Rule(NamedTuple):
    """One rule; without a pattern it is DEFAULT. ``case`` is "L", "U" or ""."""

    pattern: JavaPattern | None = None
    replacement: str = ""
    case: str = ""

    def __str__(self) -> str:
        if self.pattern is None:
            return "DEFAULT"
        case = f"/{self.case}" if self.case else ""
        return f"RULE:{self.pattern.text}/{self.replacement}{case}"

    def name(self, distinguished_name: str) -> str | None:
        """Return the name that the rule makes, or None where it says nothing.

        Raises:
            TimeoutError: the pattern takes too long on this name.
            ValueError: the replacement is none of Java's.

        """
        if self.pattern is None:
            return distinguished_name
        if not self.pattern.matches(distinguished_name):
            return None
        replacement = _with_literal_references(self.replacement, self.pattern.groups)
        name = self.pattern.replace_all(distinguished_name, replacement)
        if self.case:
            return name.lower() if self.case == "L" else name.upper()
        return name


class SslRules:
    """The rules of a listener."""

    __slots__ = ("_rules",)

    def __init__(self, text: str) -> None:
        """Read the rules.

        Raises:
            ValueError: they are not well-formed; says which.

        """
        self._rules = tuple(_rules_of(text))

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self._rules))}]"

    def name(self, distinguished_name: str) -> str:
        """Return the name that the first fitting rule makes.

        Raises:
            NoMatchingRule: there is none.
            TimeoutError, ValueError: see Rule.name.

        """
        for rule in self._rules:
            name = rule.name(distinguished_name)
            if name is not None:
                return name
        raise NoMatchingRule(f"No rules apply to {distinguished_name}, rules {self}")


def _rules_of(text: str) -> Iterator[Rule]:
    for found in _RULES.find_all(text.strip(_SPACE)):
        rule = found.group(1)
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
    """Return a replacement in which references to groups that are not there are plain text.

    As Kafka does it: with several of them, places are counted in the text before the first change.
    A pattern without groups leaves the replacement as it is.
    """
    if not groups:
        return replacement
    value = replacement
    for found in _BACK_REFERENCE.finditer(replacement):
        if found[1].startswith("0"):
            continue
        group = int(found[1])
        if group > _JAVA_INT_MAX:
            raise ValueError("the replacement names a group beyond Java's numbers")
        while group > groups and group >= 10:
            group //= 10
        if group > groups:
            at = found.start()
            value = f"{value[:at]}\\{value[at:]}"
    return value


_JAVA_INT_MAX: Final = 2**31 - 1
