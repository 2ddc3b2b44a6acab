"""Rules C6: how the name in a certificate or a Kerberos ticket becomes a principal.

Source: ``SslPrincipalMapper``, ``KerberosShortNamer``, ``ChannelBuilders`` (4.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from msgspec.structs import astuple

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.server.app.config_rules.node import Node
from doorkeeper.server.app.config_rules.rule import BOTH, ERROR, WARNING, rule
from doorkeeper.server.config.keys import PRINCIPAL_BUILDER_CLASS

if TYPE_CHECKING:
    from doorkeeper.server.security.java_regex import JavaPattern
    from doorkeeper.server.security.ssl_rules import Rule

MAPPING: Final = "ssl.principal.mapping.rules"
KERBEROS: Final = "sasl.kerberos.principal.to.local.rules"
BUILDER: Final = PRINCIPAL_BUILDER_CLASS.name

_WHOLE: Final = (".*", "^.*$", "(.*)", "^(.*)$")
"""Patterns that match every name."""

_PROBES: Final = (
    "CN=a", "CN=a,OU=b", "CN=a.b,OU=c,O=d,C=DE", "CN=a,OU=b,O=c,L=d,ST=e,C=FR",
    "EMAILADDRESS=a@b.c,CN=a,O=d", "O=d,CN=a", "UID=a,OU=b,DC=c,DC=d",
)  # fmt: skip
"""Names on which an earlier rule is tried: one that matches all of them hides those after it."""


def _mappings(node: Node) -> Iterator[tuple[Entry, tuple[Rule, ...] | str]]:
    """Yield each entry of mapping rules of an SSL listener, with its rules or its fault."""
    for entry in _entries(node, MAPPING, node.with_protocol("SSL")):
        # The parser of expressions is imported where there are rules only.
        from doorkeeper.server.security.ssl_rules import SslRules

        try:
            yield entry, SslRules(entry.value).rules
        except ValueError as error:
            yield entry, str(error)


def _entries(node: Node, key: str, listeners: Iterable[str]) -> list[Entry]:
    """Return the entries of a key that are in effect on some listeners, each once."""
    entries = {entry for name in listeners if (entry := node.entry(key, name)) is not None}
    return sorted(entries, key=astuple)


@rule("C601", ERROR)
def malformed_mapping(node: Node) -> Iterator[Problem]:
    for entry, rules in _mappings(node):
        if isinstance(rules, str) and not node.is_template(entry):
            yield node.at(entry, rules)


@rule("C602", WARNING, products=BOTH)
def shadowed_mapping(node: Node) -> Iterator[Problem]:
    for entry, rules in _mappings(node):
        if isinstance(rules, str):
            continue
        for at, hiding in enumerate(rules[:-1]):
            hidden = rules[at + 1]
            same = hiding.pattern is not None and any(
                other.pattern is not None and other.pattern.text == hiding.pattern.text
                for other in rules[at + 1 :]
            )
            if _matches_all(hiding) or same:
                yield node.at(entry, f"{hiding} applies before {hidden}, which is never reached")
                break


def _matches_all(rule: Rule) -> bool:
    if rule.pattern is None or rule.pattern.text in _WHOLE:
        return True
    try:
        return all(rule.pattern.matches(name) for name in _PROBES)
    except (ValueError, TimeoutError):
        return False


@rule("C603", WARNING, products=BOTH)
def mapping_with_blanks(node: Node) -> Iterator[Problem]:
    for entry, mapping, pattern in _patterns(node):
        if re.search(r", +[A-Za-z]+=", pattern.text):
            text = "names have no space after a comma: the rule matches no certificate"
            yield node.at(entry, f"{mapping}: {text}")


def _patterns(node: Node) -> Iterator[tuple[Entry, Rule, JavaPattern]]:
    """Yield each mapping rule with a pattern, and its entry."""
    for entry, rules in _mappings(node):
        for mapping in () if isinstance(rules, str) else rules:
            if mapping.pattern is not None:
                yield entry, mapping, mapping.pattern


@rule("C604", WARNING, products=BOTH)
def missing_group(node: Node) -> Iterator[Problem]:
    for entry, mapping, pattern in _patterns(node):
        for number in re.findall(r"\$([1-9])", mapping.replacement):
            if int(number) > pattern.groups:
                text = f"the pattern has {pattern.groups} groups, not {number}"
                yield node.at(entry, f"{mapping}: {text}")


@rule("C605", ERROR)
def unknown_builder(node: Node) -> Iterator[Problem]:
    for entry in node.entries.values():
        name = entry.value.strip()
        if not entry.key.endswith(BUILDER) or name == PRINCIPAL_BUILDER_CLASS.default:
            continue
        if name.startswith(("org.apache.kafka.", "kafka.")):
            yield node.at(entry, f"no class {name}: remove the key")


@rule("C606", WARNING)
def rules_and_builder(node: Node) -> Iterator[Problem]:
    builder = node.text(BUILDER)
    if not builder or builder == PRINCIPAL_BUILDER_CLASS.default:
        return
    for key in (MAPPING, KERBEROS):
        if node.has(key):
            yield node.at(key, f"{builder} determines the name: Kafka's rules may have no effect")


@rule("C607", ERROR)
def malformed_kerberos(node: Node) -> Iterator[Problem]:
    for entry, rules in _kerberos(node):
        from doorkeeper.server.security.kerberos_rules import ShortNamer

        try:
            ShortNamer("", rules)
        except ValueError as error:
            yield node.at(entry, str(error))


def _kerberos(node: Node) -> Iterator[tuple[Entry, list[str]]]:
    names = [name for name, mechanism in node.logins if mechanism == "GSSAPI"]
    for entry in _entries(node, KERBEROS, names):
        if not node.is_template(entry):
            yield entry, [word.strip() for word in entry.value.split(",") if word.strip()]


@rule("C608", WARNING, products=BOTH)
def shadowed_kerberos(node: Node) -> Iterator[Problem]:
    for entry, rules in _kerberos(node):
        for at, hiding in enumerate(rules):
            whole = re.match(r"RULE:\[(\d+):[^\]]*\](?!\()", hiding)
            begin = f"RULE:[{whole[1]}:" if whole is not None else hiding
            hidden = [text for text in rules[at + 1 :] if text.startswith(begin)]
            if hidden and (whole is not None or hiding in hidden):
                yield node.at(entry, f"{hiding} applies before {hidden[0]}, which is never reached")
                break
