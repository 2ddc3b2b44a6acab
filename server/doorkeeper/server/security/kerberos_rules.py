r"""Maps Kerberos names to user names: ``sasl.kerberos.principal.to.local.rules``.

    RULE:[2:$1.$2@$0](.*@EXAMPLE\.COM)s/@.*//L, DEFAULT

A rule applies to names with a number of components (``[2:``). It formats a text from them (``$0``
is the realm), which must match the pattern in round brackets as a whole, may replace parts of it,
and may change the case with /L or /U. The first rule that applies decides. DEFAULT returns the
first component of names of the default realm. The login fails if no rule applies, or if the result
still contains a / or an @.

Source: ``KerberosShortNamer``, ``KerberosRule`` and ``KerberosName`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from doorkeeper.base.values import INT_MAX

if TYPE_CHECKING:
    from doorkeeper.server.security.java_regex import JavaPattern

_NAME = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")
_RULE = re.compile(
    r"DEFAULT|RULE:\[(?P<components>[0-9]*):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<pattern>[^/]*)/(?P<replacement>[^/]*)/(?P<every>g)?)?/?(?P<case>[LU])?"
)
_PARAMETER = re.compile(r"\$([0-9]*)")


class NoShortName(ValueError):
    """The rules give no user name. The text may contain the Kerberos name, which is no secret."""


class KerberosName(Struct, frozen=True):
    """The parts of a principal's name; ``realm`` is None only for a name without ``@``."""

    service: str
    host: str | None
    realm: str | None

    @classmethod
    def parse(cls, text: str) -> KerberosName:
        """Parse ``alice@REALM``, ``alice/host@REALM``, or a name without a realm.

        Raises:
            NoShortName: it contains an @, but does not have one of these forms.
        """
        match = _NAME.fullmatch(text)
        if match is not None:
            return cls(match[1], match[2], match[3])
        if "@" in text:
            raise NoShortName(f"Malformed Kerberos name: {text}")
        return cls(text, None, None)


class ShortNamer:
    """The rules of one listener, in order."""

    __slots__ = ("_rules",)

    def __init__(self, default_realm: str, rules: Sequence[str] = ("DEFAULT",)) -> None:
        """Parse the rules; an empty ``default_realm`` means that there is none."""
        self._rules = [(text, _rule(default_realm, text)) for text in rules]

    def short_name(self, name: str) -> str:
        """Return the user name for a principal's full name.

        Raises:
            NoShortName: no rule applies, or one fails.
        """
        parsed = KerberosName.parse(name)
        # Kafka returns a name without a realm as it is, whatever the rules say.
        if parsed.realm is None:
            return parsed.service
        for _, short_name in self.trials(parsed):
            if short_name is not None:
                return short_name
        raise NoShortName(f"No rules apply to {name}")

    def trials(self, name: KerberosName) -> Iterator[tuple[str, str | None]]:
        """Yield each rule and what it makes of a name with a realm, up to the first that applies.

        It makes None of a name to which it does not apply.

        Raises:
            NoShortName: a rule applies, and fails.
        """
        parameters = [part for part in (name.realm, name.service, name.host) if part is not None]
        for text, apply in self._rules:
            short_name = apply(parameters)
            yield text, short_name
            if short_name is not None:
                return

    @property
    def texts(self) -> list[str]:
        """Return the rules as texts, in order."""
        return [text for text, _ in self._rules]


_Rule = Callable[[Sequence[str]], str | None]
"""Returns the short name for the parameters ``$0``, ``$1``..., or None where it does not apply."""


def _rule(default_realm: str, text: str) -> _Rule:
    match = _RULE.match(text)
    if match is None:
        raise ValueError(f"Invalid rule: {text}")
    if match.end() != len(text):
        rest = text[match.end() :]
        raise ValueError(f"Invalid rule: `{text}`, unmatched substring: `{rest}`")
    if text == "DEFAULT":
        return lambda parameters: parameters[1] if parameters[0] == default_realm else None
    # Kafka parses a Java int, and fails with a bare NumberFormatException.
    components = int(match["components"]) if 0 < len(match["components"]) <= 40 else INT_MAX + 1
    if components > INT_MAX:
        raise ValueError(
            f"Invalid rule: {text}: expected the number of components before the colon"
        )
    return _explicit(match, components)


def _explicit(match: re.Match[str], components: int) -> _Rule:
    """Return a rule in the form ``RULE:...``."""
    text = match[0]
    applies, pattern = _pattern(match["match"], text), _pattern(match["pattern"], text)

    def apply(parameters: Sequence[str]) -> str | None:
        if len(parameters) - 1 != components:
            return None
        result = _format(match["format"], parameters)
        try:
            if applies is not None and not applies.matches(result):
                return None
            if pattern is not None:
                result = pattern.replace(result, match["replacement"], once=match["every"] is None)
        except (ValueError, TimeoutError) as error:
            raise NoShortName(f"{text} fails: {error}") from None
        if "/" in result or "@" in result:
            raise NoShortName(f"Non-simple name {result} after auth_to_local rule {text}")
        if match["case"] == "L":
            return result.lower()
        return result.upper() if match["case"] == "U" else result

    return apply


def _pattern(pattern: str | None, rule: str) -> JavaPattern | None:
    if pattern is None:
        return None
    # Imported here: the rule DEFAULT needs no regular expressions.
    from doorkeeper.server.security.java_regex import JavaPattern

    try:
        return JavaPattern(pattern)
    except ValueError as error:
        raise ValueError(f"Invalid rule: {rule}: in {pattern}: {error}") from error


def _format(form: str, parameters: Sequence[str]) -> str:
    """Return the format with its parameters filled in."""

    def parameter(match: re.Match[str]) -> str:
        number = int(match[1]) if 0 < len(match[1]) <= 40 else len(parameters)
        if number >= len(parameters):
            raise NoShortName(f"{form} names ${match[1]}; allowed: $0 to ${len(parameters) - 1}")
        return parameters[number]

    return _PARAMETER.sub(parameter, form)
