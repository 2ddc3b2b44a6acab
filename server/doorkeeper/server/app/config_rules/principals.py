"""Rules C6: how the name in a certificate or a Kerberos ticket becomes a principal.

Source: ``SslPrincipalMapper``, ``KerberosShortNamer``, ``ChannelBuilders`` (4.3.1).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import astuple

from doorkeeper.server.app.config_rules.findings import Hit
from doorkeeper.server.app.config_rules.rule import BOTH, ERROR, WARNING, rule
from doorkeeper.server.config.keys import PRINCIPAL_BUILDER_CLASS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.base.entry import Entry
    from doorkeeper.server.app.config_rules.node import Node
    from doorkeeper.server.security.ssl_rules import Rule

MAPPING: Final = "ssl.principal.mapping.rules"
KERBEROS: Final = "sasl.kerberos.principal.to.local.rules"
BUILDER: Final = PRINCIPAL_BUILDER_CLASS.name

_SSL: Final = (
    "listeners=SSL://localhost:9092,CONTROLLER://localhost:9093\n"
    "listener.security.protocol.map=SSL:SSL,CONTROLLER:PLAINTEXT\n"
    "inter.broker.listener.name=SSL\nssl.client.auth=required\n"
    "ssl.keystore.location=/etc/kafka/kafka.p12\nssl.keystore.password=secret\n"
    "ssl.truststore.location=/etc/kafka/trust.p12\n"
)
_GSSAPI: Final = (
    "sasl.enabled.mechanisms=PLAIN,GSSAPI\nsasl.kerberos.service.name=kafka\n"
    "listener.name.sasl.gssapi.sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule"
    ' required useKeyTab=true keyTab="/etc/kafka/kafka.keytab"'
    ' principal="kafka/localhost@EXAMPLE.COM";\n'
)
_WHOLE: Final = (".*", "^.*$", "(.*)", "^(.*)$")
"""Patterns that match every name."""

_PROBES: Final = (
    "CN=a", "CN=a,OU=b", "CN=a.b,OU=c,O=d,C=DE", "CN=a,OU=b,O=c,L=d,ST=e,C=FR",
    "EMAILADDRESS=a@b.c,CN=a,O=d", "O=d,CN=a", "UID=a,OU=b,DC=c,DC=d",
)  # fmt: skip
"""Names on which an earlier rule is tried: one that matches all of them hides those after it."""


def _mappings(node: Node) -> Iterator[tuple[Entry, tuple[Rule, ...] | str]]:
    """Yield each entry of mapping rules of an SSL listener, with its rules or its fault."""
    names = node.with_protocol("SSL")
    entries = {entry for name in names if (entry := node.entry(MAPPING, name)) is not None}
    for entry in sorted(entries, key=astuple):
        # The parser of expressions is imported where there are rules only.
        from doorkeeper.server.security.ssl_rules import SslRules

        try:
            yield entry, SslRules(entry.value).rules
        except ValueError as error:
            yield entry, str(error)


@rule(
    "C601",
    ERROR,
    "A malformed mapping rule",
    "A rule is DEFAULT or RULE:PATTERN/REPLACEMENT/, optionally with L or U at the end. Escape a"
    " slash in the pattern with a backslash, doubled in a properties file.",
    wrong=f"{_SSL}ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1",
    right=f"{_SSL}ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/",
)
def malformed_mapping(node: Node) -> Iterator[Hit]:
    for entry, rules in _mappings(node):
        if isinstance(rules, str) and not node.is_template(entry):
            yield node.at(entry, rules)


@rule(
    "C602",
    WARNING,
    "A mapping rule that never applies",
    "The first rule whose pattern matches the whole name applies. Rules after DEFAULT, or after a"
    " pattern that matches every name, are never reached.",
    wrong=f"{_SSL}ssl.principal.mapping.rules=DEFAULT,RULE:^CN=(.*?),.*$/$1/",
    right=f"{_SSL}ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/,DEFAULT",
    products=BOTH,
)
def shadowed_mapping(node: Node) -> Iterator[Hit]:
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


@rule(
    "C603",
    WARNING,
    "A mapping rule for names with spaces",
    "In principals, distinguished names have no space after a comma: CN=x,OU=y. OpenSSL and"
    " keytool print one.",
    wrong=f"{_SSL}ssl.principal.mapping.rules=RULE:^CN=(.*?), OU=.*$/$1/,DEFAULT",
    right=f"{_SSL}ssl.principal.mapping.rules=RULE:^CN=(.*?),OU=.*$/$1/,DEFAULT",
    products=BOTH,
)
def mapping_with_blanks(node: Node) -> Iterator[Hit]:
    for entry, rules in _mappings(node):
        for each in () if isinstance(rules, str) else rules:
            if each.pattern is not None and re.search(r", +[A-Za-z]+=", each.pattern.text):
                text = "names have no space after a comma: the rule matches no certificate"
                yield node.at(entry, f"{each}: {text}")


@rule(
    "C604",
    WARNING,
    "A replacement that refers to a missing group",
    "$1 is the first group in the pattern. A reference to a missing group is kept in the name"
    " literally.",
    wrong=f"{_SSL}ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$2/",
    right=f"{_SSL}ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/",
    products=BOTH,
)
def missing_group(node: Node) -> Iterator[Hit]:
    for entry, rules in _mappings(node):
        for each in () if isinstance(rules, str) else rules:
            for number in re.findall(r"\$([1-9])", each.replacement):
                if each.pattern is not None and int(number) > each.pattern.groups:
                    groups = each.pattern.groups
                    yield node.at(entry, f"{each}: the pattern has {groups} groups, not {number}")


@rule(
    "C605",
    ERROR,
    "A principal builder that does not exist",
    "The class is loaded when the node starts. DefaultPrincipalBuilder was removed after Kafka"
    " 1.0; without the key, the default builder is used.",
    wrong="principal.builder.class=org.apache.kafka.common.security.auth.DefaultPrincipalBuilder",
    right="",
)
def unknown_builder(node: Node) -> Iterator[Hit]:
    for entry in node.entries.values():
        name = entry.value.strip()
        if not entry.key.endswith(BUILDER) or name == PRINCIPAL_BUILDER_CLASS.default:
            continue
        if name.startswith(("org.apache.kafka.", "kafka.")):
            yield node.at(entry, f"no class {name}: remove the key")


@rule(
    "C606",
    WARNING,
    "Mapping rules with a custom principal builder",
    "ssl.principal.mapping.rules and the Kerberos rules are used by the default builder only.",
    wrong=f"{_SSL}principal.builder.class=com.example.Names\n"
    "ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/,DEFAULT",
    right=f"{_SSL}ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/,DEFAULT",
)
def rules_and_builder(node: Node) -> Iterator[Hit]:
    builder = node.text(BUILDER)
    if not builder or builder == PRINCIPAL_BUILDER_CLASS.default:
        return
    for key in (MAPPING, KERBEROS):
        if node.has(key):
            yield node.at(key, f"{builder} determines the name: Kafka's rules may have no effect")


@rule(
    "C607",
    ERROR,
    "A malformed Kerberos rule",
    "A rule is DEFAULT or `RULE:[n:FORM](PATTERN)s/PATTERN/REPLACEMENT/g/L`. The list is split at"
    " every comma, including commas within a rule.",
    wrong=f"{_GSSAPI}sasl.kerberos.principal.to.local.rules=RULE:[1:$1@$0](.*)s/@.*,DEFAULT",
    right=f"{_GSSAPI}sasl.kerberos.principal.to.local.rules=RULE:[1:$1@$0](.*)s/@.*//,DEFAULT",
)
def malformed_kerberos(node: Node) -> Iterator[Hit]:
    for entry, rules in _kerberos(node):
        from doorkeeper.server.security.kerberos_rules import ShortNamer

        try:
            ShortNamer("", rules)
        except ValueError as error:
            yield node.at(entry, str(error))


def _kerberos(node: Node) -> Iterator[tuple[Entry, list[str]]]:
    names = [name for name, mechanism in node.logins if mechanism == "GSSAPI"]
    entries = {entry for name in names if (entry := node.entry(KERBEROS, name)) is not None}
    for entry in sorted(entries, key=astuple):
        if not node.is_template(entry):
            yield entry, [word.strip() for word in entry.value.split(",") if word.strip()]


@rule(
    "C608",
    WARNING,
    "A Kerberos rule that never applies",
    "Of the rules for the number of components, the first whose pattern matches applies. A rule"
    " without a pattern matches all names with this number.",
    wrong=f"{_GSSAPI}sasl.kerberos.principal.to.local.rules="
    "RULE:[1:$1],RULE:[1:$1@$0](.*@EXAMPLE.COM)s/@.*//",
    right=f"{_GSSAPI}sasl.kerberos.principal.to.local.rules="
    "RULE:[1:$1@$0](.*@EXAMPLE.COM)s/@.*//,RULE:[1:$1]",
    products=BOTH,
)
def shadowed_kerberos(node: Node) -> Iterator[Hit]:
    for entry, rules in _kerberos(node):
        for at, hiding in enumerate(rules):
            whole = re.match(r"RULE:\[(\d+):[^\]]*\](?!\()", hiding)
            begin = f"RULE:[{whole[1]}:" if whole is not None else hiding
            hidden = [text for text in rules[at + 1 :] if text.startswith(begin)]
            if hidden and (whole is not None or hiding in hidden):
                yield node.at(entry, f"{hiding} applies before {hidden[0]}, which is never reached")
                break
