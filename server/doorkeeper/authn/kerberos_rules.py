r"""From a Kerberos name to a user's name: ``sasl.kerberos.principal.to.local.rules``.

    RULE:[2:$1.$2@$0](.*@EXAMPLE\.COM)s/@.*//L, DEFAULT

A rule takes names with so many components (``[2:``), makes a text of them (``$0`` is the realm),
applies only where the whole text matches what stands in round brackets, may replace in it, and may
end in /L or /U. The first rule that applies decides. DEFAULT takes the first component of names
of the default realm. Where no rule applies, or a result still holds a / or an @, nobody logs in.

Source: ``KerberosShortNamer``, ``KerberosRule`` and ``KerberosName`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.authn.java_regex import JavaPattern

_NAME = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")
_RULE = re.compile(
    r"DEFAULT|RULE:\[(?P<components>[0-9]*):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<pattern>[^/]*)/(?P<replacement>[^/]*)/(?P<every>g)?)?/?(?P<case>[LU])?"
)
_PARAMETER = re.compile(r"([^$]*)(?:\$([0-9]*))?")
_INT_MAX = 2**31 - 1


class NoShortName(ValueError):
    """The rules give this name no user; says why. It may hold the name, and no secret."""


class KerberosName(NamedTuple):
    """A principal's name in its parts; ``realm`` is None only for a name without ``@``."""

    service: str
    host: str | None
    realm: str | None

    @classmethod
    def parse(cls, text: str) -> KerberosName:
        """Take ``alice@REALM``, ``alice/host@REALM``, or a name without a realm.

        Raises:
            NoShortName: it has an @, and other parts than these.

        """
        found = _NAME.fullmatch(text)
        if found is not None:
            return cls(found[1], found[2], found[3])
        if "@" in text:
            raise NoShortName(f"Malformed Kerberos name: {text}")
        return cls(text, None, None)


class ShortNamer:
    """The rules of one listener, in order."""

    __slots__ = ("_rules",)

    def __init__(self, default_realm: str, rules: Sequence[str] = ("DEFAULT",)) -> None:
        """Read the rules; an empty ``default_realm`` is none.

        Raises:
            ValueError: a rule is not well-formed; the text names it.

        """
        self._rules = [_rule(default_realm, text) for text in rules]

    def short_name(self, name: str) -> str:
        """Return the user's name for a principal's full name.

        Raises:
            NoShortName: no rule applies, or one fails.

        """
        parsed = KerberosName.parse(name)
        if parsed.realm is None:
            return parsed.service
        parameters = [parsed.realm, parsed.service]
        if parsed.host is not None:
            parameters.append(parsed.host)
        for rule in self._rules:
            found = rule.applied(parameters)
            if found is not None:
                return found
        raise NoShortName(f"No rules apply to {name}")


class _Rule(Protocol):
    def applied(self, parameters: Sequence[str]) -> str | None:
        """Return the short name, None where the rule does not apply.

        Raises:
            NoShortName: it applies, and gives no name.

        """
        ...


class _Default(NamedTuple):
    realm: str

    def applied(self, parameters: Sequence[str]) -> str | None:
        return parameters[1] if parameters[0] == self.realm else None


class _Written(NamedTuple):
    """A rule in the form ``RULE:...``; ``text`` is that form."""

    text: str
    components: int
    form: str
    match: JavaPattern | None
    pattern: JavaPattern | None
    replacement: str
    every: bool
    case: str | None

    def applied(self, parameters: Sequence[str]) -> str | None:
        if len(parameters) - 1 != self.components:
            return None
        base = _filled(self.form, parameters)
        try:
            if self.match is not None and not self.match.matches(base):
                return None
            result = self._replaced(base)
        except (ValueError, TimeoutError) as error:
            raise NoShortName(f"{self.text} fails: {error}") from None
        if "/" in result or "@" in result:
            raise NoShortName(f"Non-simple name {result} after auth_to_local rule {self.text}")
        if self.case == "L":
            return result.lower()
        return result.upper() if self.case == "U" else result

    def _replaced(self, base: str) -> str:
        if self.pattern is None:
            return base
        replace = self.pattern.replace_all if self.every else self.pattern.replace_first
        return replace(base, self.replacement)


def _rule(default_realm: str, text: str) -> _Rule:
    found = _RULE.match(text)
    if found is None:
        raise ValueError(f"Invalid rule: {text}")
    if found.end() != len(text):
        rest = text[found.end() :]
        raise ValueError(f"Invalid rule: `{text}`, unmatched substring: `{rest}`")
    if text == "DEFAULT":
        return _Default(default_realm)
    components = found["components"]
    # Kafka reads the number as an int of Java's, and stops with the bare error of that.
    if not components or len(components) > 40 or int(components) > _INT_MAX:
        raise ValueError(f"Invalid rule: {text}: no number of components stands before the colon")
    return _Written(
        text=text,
        components=int(components),
        form=found["format"],
        match=_pattern(found["match"], text),
        pattern=_pattern(found["pattern"], text),
        replacement=found["replacement"] or "",
        every=found["every"] is not None,
        case=found["case"],
    )


def _pattern(pattern: str | None, rule: str) -> JavaPattern | None:
    if pattern is None:
        return None
    # Imported here: the rule DEFAULT needs no regular expressions.
    from doorkeeper.authn.java_regex import JavaPattern  # noqa: PLC0415

    try:
        return JavaPattern(pattern)
    except ValueError as error:
        raise ValueError(f"Invalid rule: {rule}: in {pattern}: {error}") from error


def _filled(form: str, parameters: Sequence[str]) -> str:
    """Return the form with the parameters filled in.

    Raises:
        NoShortName: a $ is followed by no number, or by one that the name does not have.

    """
    made: list[str] = []
    for found in _PARAMETER.finditer(form):
        made.append(found[1])
        if found[2] is None:
            continue
        number = int(found[2]) if 0 < len(found[2]) <= 40 else len(parameters)
        if number >= len(parameters):
            raise NoShortName(f"{form} names ${found[2]}; allowed: $0 to ${len(parameters) - 1}")
        made.append(parameters[number])
    return "".join(made)
