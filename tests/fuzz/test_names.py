"""Certificates, rules and stores that nobody would write."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import pytest

from doorkeeper.authn.distinguished_name import NotDer, name_of, subject_of
from doorkeeper.authn.java_regex import JavaPattern, PatternError
from doorkeeper.authn.ssl_rules import NoMatchingRule, SslRules
from doorkeeper.tls import pem
from testkit.certificates import crl_pem, world
from testkit.fuzzing import fuzz

NAME = "CN=Duke,OU=ServiceUsers,O=Org,C=US"
RULES = (
    b"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT",
    b"RULE:(?i)cn=(?<user>[^,&&\\w]+?),(?:OU=(\\p{L}++)|.{1,9}).*/${user}@$2\\/x/U",
    b"RULE:\\Qa.b\\E[\\x41-\\u0046[^c-e]]*(?<=a)(b)\\1$/$10/",
)


def certificates(data: bytes) -> None:
    """Read bytes as a certificate, and as a name: a text, or the one error that there is."""
    for read in (subject_of, name_of):
        with suppress(NotDer):
            assert isinstance(read(data), str)


def rules(data: bytes) -> None:
    """Read a text as rules and use them: a name, or one of the errors that there are."""
    with suppress(NoMatchingRule, TimeoutError, ValueError):
        SslRules(data.decode("utf-8", "replace")).name(NAME)


def patterns(data: bytes) -> None:
    """Read a text as a pattern, and look for it: an answer, or one of the errors."""
    with suppress(PatternError, TimeoutError):
        pattern = JavaPattern(data.decode("utf-8", "replace"))
        assert pattern.matches(NAME) in (True, False)
        assert all(match.end() >= match.start() for match in pattern.find_all(NAME))


@cache
def secret() -> str:
    """Return a piece of a key that no error may show."""
    return world().alice.key_pem().splitlines()[1]


def stores(data: bytes) -> None:
    """Read bytes as PEM: what is asked for, or an error that shows nothing of it."""
    for read in (pem.certificates_of, pem.revocations_of, lambda d: pem.private_key_of(d, "x")):
        told = ""
        try:
            read(data)
        except pem.PemError as error:
            told = str(error)
        assert secret() not in told


@pytest.mark.slow
def test_certificates() -> None:
    """No bytes make the reading of a name fail otherwise than with its error."""
    alice, authority = world().alice, world().authority.own
    names = [each.certificate.subject.public_bytes() for each in (alice, authority)]
    fuzz(
        certificates,
        [alice.der, authority.der, *names],
        modules=["doorkeeper.authn.distinguished_name"],
    )


@pytest.mark.slow
def test_rules() -> None:
    """No rules make a connection end with anything that is not foreseen."""
    fuzz(rules, RULES, modules=["doorkeeper.authn.ssl_rules"])


@pytest.mark.slow
def test_patterns() -> None:
    """No pattern gets past the translation that the other package would fail on."""
    seeds = [rule.split(b"/")[0].removeprefix(b"RULE:") for rule in RULES]
    fuzz(
        patterns,
        seeds,
        modules=[
            "doorkeeper.authn.java_regex",
            "doorkeeper.authn.java_regex_classes",
            "doorkeeper.authn.java_regex_parsing",
        ],
    )


@pytest.mark.slow
def test_stores() -> None:
    """No file makes the reading of PEM fail otherwise than with its error."""
    texts = (
        world().alice.key_pem("x"),
        world().alice.chain_pem,
        crl_pem(world().authority.revoked(world().bob)),
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n-----END RSA PRIVATE KEY-----",
    )
    fuzz(stores, [text.encode() for text in texts], modules=["doorkeeper.tls.pem"])
