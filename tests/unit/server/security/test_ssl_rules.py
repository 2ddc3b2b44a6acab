"""ssl.principal.mapping.rules."""

from __future__ import annotations

import pytest

from doorkeeper.server.security.ssl_rules import NoMatchingRule, SslRules

DOCUMENTED = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    " RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    " RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L, DEFAULT"
)


@pytest.mark.parametrize(
    ("rules", "distinguished_name", "name"),
    [
        (DOCUMENTED, "CN=serviceuser,OU=ServiceUsers,O=Unknown,C=Unknown", "serviceuser"),
        (DOCUMENTED, "CN=adminUser,OU=Admin,O=Unknown,L=Un,ST=Un,C=Un", "adminuser@admin"),
        (DOCUMENTED, "O=nobody", "O=nobody"),
        (r"RULE:^CN=(\w+)\/x,.*$/$1\/y/", "CN=a/x,O=b", "a/y"),
        ("RULE:.*/x/", "CN=a", "xx"),
        ("RULE:^CN=(.*)$/$1$2/", "CN=a", "a$2"),
        ("RULE:^CN=(.*)$/$10/", "CN=a", "a0"),
        ("RULE:^(CN=.*)$/$1/U", "CN=straße", "CN=STRASSE"),
    ],
)
def test_first_matching_rule_maps_the_name(rules: str, distinguished_name: str, name: str) -> None:
    assert SslRules(rules).name(distinguished_name) == name


def test_no_matching_rule() -> None:
    """Where no rule counts there is no name; what is told are name and rules, as Kafka does."""
    with pytest.raises(NoMatchingRule, match=r"No rules apply to O=x, rules \[RULE:CN=\.\*/a/L\]"):
        SslRules("RULE:CN=.*/a/L").name("O=x")


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("DEFAUL", "Invalid rule: `DEFAUL`, unmatched substring: `DEFAUL`"),
        ("RULE:a/b", "Invalid rule: `RULE:a/b`, unmatched substring"),
        ("RULE:a/b/x", "Invalid rule: `RULE:a/b/x`, unmatched substring: `x`"),
        ("RULE:(a/b/", "Invalid rule: `RULE:(a/b/`: a group is not closed, at character 3"),
    ],
)
def test_malformed_rules_are_rejected(rules: str, said: str) -> None:
    with pytest.raises(ValueError, match="Invalid rule") as refused:
        SslRules(rules)

    assert said in str(refused.value)


def test_invalid_group_references_fail() -> None:
    """A number that Java cannot hold fails where the rule counts, and lets nobody in."""
    with pytest.raises(ValueError, match="number that Java does not support"):
        SslRules("RULE:(.*)/$2147483648/").name("CN=a")
