"""Names of certificates: as Java prints them, and as Kafka's rules change them."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.base.distinguished_name import name_of
from doorkeeper.server.security.ssl_rules import NoMatchingRule, SslRules
from testkit.kafka_jars import PROJECT, Unavailable, cannot
from testkit.oracle_names import NAMES, RULES, SUBJECTS, NamesOracle
from testkit.oracle_totals import Totals

DOCUMENTED = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,"
    "DEFAULT"
)
"""The example of Kafka's documentation."""

SPLIT = "a rule that matches nothing, beside a character beyond U+FFFF"
"""Java finds an empty match within such a character and cuts it in two; we keep it whole."""

SIGMA = "which small sigma a word ends with"
"""Java looks for the word with rules of its own: for it a digit does not end one."""

ACCEPTED = {SPLIT: ("RULE:x*?|.*/-/", "\U0001f600"), SIGMA: ("RULE:(.*)/$1/L", "n2Σ")}
"""Rules and a text for each."""


@pytest.fixture(scope="session")
def names() -> Iterator[NamesOracle]:
    """Give Java and Kafka."""
    try:
        oracle = NamesOracle()
    except Unavailable as missing:
        cannot(str(missing))
    yield oracle
    oracle.close()


def mapped(rules: SslRules, text: str) -> str | None:
    """Return our name; None where none is given."""
    try:
        return rules.name(text)
    except (NoMatchingRule, ValueError):
        return None


def accepted(text: str, ours: str | None, theirs: str | None) -> str | None:
    """Return the accepted difference between two names, if it is one."""
    sigmas = str.maketrans({"\N{GREEK SMALL LETTER FINAL SIGMA}": "\N{GREEK SMALL LETTER SIGMA}"})
    if ours and theirs and ours.translate(sigmas) == theirs.translate(sigmas):
        return SIGMA
    return SPLIT if max(text, default="") > "\uffff" else None


def agree_on_names(names: NamesOracle, totals: Totals, batch: list[bytes]) -> None:
    """Ask both; fail when they differ."""
    for name, theirs in zip(batch, names.names(batch), strict=True):
        if theirs is None:
            totals.compared["distinguished names that Java refuses"] += 1
            continue
        totals.compared["distinguished names"] += 1
        assert name_of(name) == theirs, name.hex()


def agree_on_rules(names: NamesOracle, totals: Totals, rules: str, texts: list[str]) -> None:
    """Ask both; fail when they differ, and where we take what Kafka refuses."""
    theirs = names.mapped(rules, texts)
    try:
        ours = SslRules(rules)
    except ValueError:
        told = "refused by both" if theirs is None else "refused by us only"
        totals.compared[f"principal mapping rules {told}"] += 1
        return
    if theirs is None:
        totals.compared["principal mapping rules refused by Kafka only"] += 1
        raise AssertionError(f"Kafka refuses {rules!r}")
    for text, expected in zip(texts, theirs, strict=True):
        found = mapped(ours, text)
        if found != expected and (name := accepted(text, found, expected)) is not None:
            totals.accepted[name] += 1
            continue
        totals.compared["names made by principal mapping rules"] += 1
        assert found == expected, (rules, text)


@settings(max_examples=300)
@given(batch=st.lists(NAMES, min_size=1, max_size=20))
def test_random_names(names: NamesOracle, totals: Totals, batch: list[bytes]) -> None:
    """Every name that Java takes has the text that Java gives it."""
    agree_on_names(names, totals, batch)


@settings(max_examples=3000)
@given(rules=RULES, texts=st.lists(SUBJECTS, min_size=1, max_size=8))
def test_random_rules(names: NamesOracle, totals: Totals, rules: str, texts: list[str]) -> None:
    """Rules that we take give Kafka's names; what Kafka refuses, we do not take."""
    agree_on_rules(names, totals, rules, texts)


def test_documented_example(names: NamesOracle, totals: Totals) -> None:
    """Kafka's documented rules give the documented names."""
    cases = {
        "CN=serviceuser,OU=ServiceUsers,O=Unknown,L=Unknown,ST=Unknown,C=Unknown": "serviceuser",
        "CN=adminUser,OU=Admin,O=Unknown,L=Unknown,ST=Unknown,C=Unknown": "adminuser@admin",
    }

    assert [SslRules(DOCUMENTED).name(text) for text in cases] == list(cases.values())
    assert names.mapped(DOCUMENTED, list(cases)) == list(cases.values())
    totals.compared["names made by principal mapping rules"] += len(cases)


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_differences_are_needed(names: NamesOracle, totals: Totals, name: str) -> None:
    rules, text = ACCEPTED[name]

    theirs = names.mapped(rules, [text])

    assert theirs is not None
    assert theirs[0] != (ours := mapped(SslRules(rules), text))
    assert accepted(text, ours, theirs[0]) == name
    totals.accepted[name] += 1


def test_accepted_differences_are_documented() -> None:
    """docs/reference/compatibility.md names each."""
    text = (PROJECT / "docs" / "reference" / "compatibility.md").read_text()

    assert [name for name in ACCEPTED if f"`{name}`" not in text] == []
