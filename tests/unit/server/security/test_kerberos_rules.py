"""Rules for Kerberos names, as Kafka documents them.

Random rules are compared with Kafka's own class in tests/conformance/test_kerberos_rules.py.
"""

from __future__ import annotations

import pytest

from doorkeeper.server.security.kerberos_rules import NoShortName, ShortNamer


def named(rule: str, name: str) -> str:
    return ShortNamer("EXAMPLE.COM", rule.split(", ")).short_name(name)


@pytest.mark.parametrize(
    ("rules", "name", "user"),
    [
        (r"RULE:[1:$1@$0](.*@EXAMPLE\.COM)s/@.*//", "alice@EXAMPLE.COM", "alice"),
        ("RULE:[2:$1](kafka.*)s/kafka/broker/g", "kafka-kafka/host@X", "broker-broker"),
        ("RULE:[1:$1]/L", "Alice@X", "alice"),
        ("RULE:[1:$1](A.*)/U", "Alice@X", "ALICE"),
        ("RULE:[2:$1.$2](.*)s/a/b//L", "KaFka/Alpha@X", "kbfka.alpha"),
        (
            "RULE:[1:$1@$0](.*@MYDOMAIN.COM)s/@.*//, DEFAULT",
            "user@MYDOMAIN.COM",
            "user",
        ),
        ("DEFAULT", "alice/admin@EXAMPLE.COM", "alice"),
        ("RULE:[2:$1], RULE:[1:x-$1], DEFAULT", "alice@EXAMPLE.COM", "x-alice"),
        ("RULE:[1:$1](b.*), DEFAULT", "alice@EXAMPLE.COM", "alice"),
        ("RULE:[1:$1]s/x/y/", "alice@X", "alice"),
        ("RULE:[1:$1]s/b*/-/g", "abc@X", "-a--c-"),
    ],
)
def test_rules_map_names(rules: str, name: str, user: str) -> None:
    assert named(rules, name) == user


@pytest.mark.parametrize(
    ("rules", "name", "reason"),
    [
        ("DEFAULT", "alice@OTHER", "No rules apply to alice@OTHER"),
        ("DEFAULT", "a/b/c@EXAMPLE.COM", "Malformed Kerberos name: a/b/c@EXAMPLE.COM"),
        ("DEFAULT", r"a\@b@EXAMPLE.COM", r"Malformed Kerberos name: a\@b@EXAMPLE.COM"),
        ("RULE:[1:$1@$0]", "a@X", "Non-simple name a@X after auth_to_local rule RULE:[1:$1@$0]"),
        ("RULE:[1:$2], DEFAULT", "a@EXAMPLE.COM", "$2 names $2; allowed: $0 to $1"),
        (
            "RULE:[1:$1]s/a/$1/, DEFAULT",
            "a@EXAMPLE.COM",
            "RULE:[1:$1]s/a/$1/ fails: the replacement refers to the group 1, which does not exist",
        ),
    ],
)
def test_names_without_a_matching_rule(rules: str, name: str, reason: str) -> None:
    with pytest.raises(NoShortName) as caught:
        named(rules, name)

    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("", "Invalid rule: "),
        ("DEFAULT ", "Invalid rule: `DEFAULT `, unmatched substring: ` `"),
        ("RULE:[1:$1", "Invalid rule: RULE:[1:$1"),
        ("RULE:[1:$1]s/a/b", "Invalid rule: `RULE:[1:$1]s/a/b`, unmatched substring: `s/a/b`"),
        (
            "RULE:[:$1]",
            "Invalid rule: RULE:[:$1]: expected the number of components before the colon",
        ),
        ("RULE:[1:$1]([)", "Invalid rule: RULE:[1:$1]([): in [: "),
        ("RULE:[1:$1]s/(/x/", "Invalid rule: RULE:[1:$1]s/(/x/: in (: "),
    ],
)
def test_invalid_rule_is_rejected(rule: str, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        ShortNamer("EXAMPLE.COM", [rule])

    assert str(caught.value).startswith(text)


def test_default_rule_without_default_realm() -> None:
    with pytest.raises(NoShortName):
        ShortNamer("").short_name("alice@EXAMPLE.COM")
