"""What ``doorkeeper whoami`` derives, against Kafka's own classes: certificates and Kerberos names.

A certificate is a file whose subject is drawn as bytes; the rules stand in a broker's properties.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.cli.whoami.credentials import certificate_in
from doorkeeper.cli.whoami.name_derivation import Credential, Ticket, derive
from doorkeeper.server.config.loading import load_values
from doorkeeper.server.security.java_regex import PatternError
from testkit.kafka_jars import Unavailable, cannot
from testkit.oracle_names import ATTRIBUTES, NAMES, RULES, NamesOracle, der, name
from testkit.oracle_rules import RulesOracle, kerberos_names, rules
from testkit.oracle_totals import Totals

DOCUMENTED = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,"
    "DEFAULT"
)
USUAL = st.sampled_from(
    [
        "DEFAULT",
        DOCUMENTED,
        "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT",
        "RULE:^.*OU=([^,+]*).*$/ou-$1/U",
        r"RULE:^CN=(.*?)[,+].*$/$1/,RULE:^UID=(.*?)(,.*)?$/$1/,RULE:.*=#(.*)/$1/U,DEFAULT",
    ]
)
SUBJECTS = NAMES | st.lists(ATTRIBUTES, min_size=1, max_size=4).map(
    lambda attributes: name(*([each] for each in attributes))
)
CHAINS = st.lists(USUAL | USUAL | RULES, min_size=2, max_size=5, unique=True)
SIGMAS = str.maketrans({"\N{GREEK SMALL LETTER FINAL SIGMA}": "\N{GREEK SMALL LETTER SIGMA}"})


@pytest.fixture(scope="module")
def names() -> Iterator[NamesOracle]:
    """Give Java and SslPrincipalMapper."""
    try:
        oracle = NamesOracle()
    except Unavailable as missing:
        cannot(str(missing))
    yield oracle
    oracle.close()


@pytest.fixture(scope="module")
def short_names() -> Iterator[RulesOracle]:
    """Give KerberosShortNamer."""
    try:
        oracle = RulesOracle()
    except Unavailable as missing:
        cannot(str(missing))
    yield oracle
    oracle.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the place of certificates."""
    return tmp_path_factory.mktemp("certificates") / "client.der"


def certificate(subject: bytes) -> bytes:
    """Return a certificate of which only the subject is what it should be."""
    other = der(0x30, b"")
    fields = der(0x02, b"\1") + other + other + other + subject + other
    return der(0x30, der(0x30, fields) + other + der(0x03, b"\0"))


def derived(credential: Credential, **keys: str) -> str | None:
    """Return the user's name on a listener with these keys; None where nobody gets in.

    Raises:
        ValueError: a rule is malformed.
    """
    protocol = "SASL_SSL" if isinstance(credential, Ticket) else "SSL"
    values = {
        "listeners": "CLIENTS://localhost:9092",
        "listener.security.protocol.map": f"CLIENTS:{protocol}",
        "listener.name.clients.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "GSSAPI",
        **{f"listener.name.clients.{key.replace('_', '.')}": text for key, text in keys.items()},
    }
    try:
        found = load_values(values, "broker.properties").settings
    except ConfigError as error:
        found = error.settings
    principal = derive(found.listeners[0], credential).principal
    return None if principal is None else principal.removeprefix("User:")


def agree_on_a_certificate(
    oracle: NamesOracle, totals: Totals, file: Path, subject: bytes, chains: list[str]
) -> None:
    """Ask both about one subject and some chains of rules; fail when they differ."""
    file.write_bytes(certificate(subject))
    [text] = oracle.names([subject])
    if text is None:
        totals.compared["whoami: subjects that Java refuses"] += 1
        return
    credential = certificate_in(file)
    assert credential.subject == text, subject.hex()
    totals.compared["whoami: subjects of certificates"] += 1
    for chain in chains:
        theirs = oracle.mapped(chain, [text])
        try:
            ours = derived(credential, ssl_principal_mapping_rules=chain)
        except ValueError:
            # Patterns without an exact translation are refused, as when a server starts.
            by = "both" if theirs is None else "us only"
            totals.compared[f"whoami: chains of rules refused by {by}"] += 1
            continue
        assert theirs is not None, f"Kafka refuses {chain!r}"
        totals.compared["whoami: subjects with a chain of rules"] += 1
        totals.compared["whoami: of them, with a principal"] += ours is not None
        same = (ours or "").translate(SIGMAS) == (theirs[0] or "").translate(SIGMAS)
        assert same or max(text) > "\uffff", (chain, text, ours, theirs)


@settings(max_examples=100)
@given(subject=SUBJECTS, chains=CHAINS)
def test_certificates(
    names: NamesOracle, totals: Totals, file: Path, subject: bytes, chains: list[str]
) -> None:
    """Each subject becomes the principal that Kafka's rules give it."""
    agree_on_a_certificate(names, totals, file, subject, chains)


@pytest.mark.slow
@settings(max_examples=1500)
@given(subject=SUBJECTS, chains=CHAINS)
def test_many_certificates(
    names: NamesOracle, totals: Totals, file: Path, subject: bytes, chains: list[str]
) -> None:
    """A thousand and more of them."""
    agree_on_a_certificate(names, totals, file, subject, chains)


def agree_on_a_ticket(oracle: RulesOracle, totals: Totals, question: dict[str, Any]) -> None:
    """Ask both about names in a realm; fail when they differ."""
    chain = ",".join(question["rules"])
    # Kafka reads the key as a list, which is empty if the value is.
    parts = [each.strip() for each in chain.split(",")] if chain.strip() else []
    question = {**question, "rules": parts}
    kafka = oracle.answer(question)
    for place, ticket in enumerate(question["names"]):
        ours: str | None = None
        refusal: ValueError | None = None
        try:
            ours = derived(
                Ticket(ticket, question["realm"]), sasl_kerberos_principal_to_local_rules=chain
            )
        except ValueError as error:
            refusal = error
        if refusal is not None:
            is_ours = isinstance(getattr(refusal.__cause__, "__cause__", None), PatternError)
            assert "refused" in kafka or is_ours, (question, refusal)
            totals.compared["whoami: rules for Kerberos names that are refused"] += 1
            continue
        assert "refused" not in kafka, question
        # Java's client always has a realm; a name without one is not asked about.
        if "@" in ticket:
            assert ours == kafka["names"][place], (question, ticket)
            totals.compared["whoami: Kerberos names"] += 1


USUAL_OF_KERBEROS = st.sampled_from(
    ["DEFAULT", "RULE:[1:$1@$0](.*@R)s/@.*//", "RULE:[2:$1.$2]/L", "RULE:[2:$1](kafka.*)s/k/K/g"]
)
QUESTIONS = st.fixed_dictionaries(
    {
        "realm": st.sampled_from(["R", "EXAMPLE.COM", "r"]),
        "rules": st.lists(rules() | USUAL_OF_KERBEROS, min_size=1, max_size=3),
        "names": st.lists(kerberos_names(), min_size=1, max_size=3),
    }
)


@settings(max_examples=100)
@given(question=QUESTIONS)
def test_kerberos_names(short_names: RulesOracle, totals: Totals, question: dict[str, Any]) -> None:
    """Each name becomes the user that Kafka's rules give it."""
    agree_on_a_ticket(short_names, totals, question)


@pytest.mark.slow
@settings(max_examples=1000)
@given(question=QUESTIONS)
def test_many_kerberos_names(
    short_names: RulesOracle, totals: Totals, question: dict[str, Any]
) -> None:
    """Hundreds of them."""
    agree_on_a_ticket(short_names, totals, question)
