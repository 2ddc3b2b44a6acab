"""Certificates, rules for names, and JAAS texts that nobody would write."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base import jaas
from doorkeeper.base.distinguished_name import NotDer, name_of, subject_of
from doorkeeper.base.tls import pem
from doorkeeper.server.config import jaas_file
from doorkeeper.server.security.gssapi import full_name
from doorkeeper.server.security.java_regex import JavaPattern, PatternError
from doorkeeper.server.security.kerberos_rules import NoShortName, ShortNamer
from doorkeeper.server.security.ssl_rules import NoMatchingRule, SslRules
from testkit.certificates import crl_pem, world
from testkit.fuzzing import fuzz

if TYPE_CHECKING:
    from collections.abc import Callable


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
def test_any_certificate_is_read_or_rejected() -> None:
    alice, authority = world().alice, world().authority.own
    names = [each.certificate.subject.public_bytes() for each in (alice, authority)]
    fuzz(
        certificates,
        [alice.der, authority.der, *names],
        modules=["doorkeeper.base.distinguished_name"],
    )


@pytest.mark.slow
def test_any_mapping_rule_is_read_or_rejected() -> None:
    fuzz(rules, RULES, modules=["doorkeeper.server.security.ssl_rules"])


@pytest.mark.slow
def test_any_pattern_is_translated_or_rejected() -> None:
    seeds = [rule.split(b"/")[0].removeprefix(b"RULE:") for rule in RULES]
    fuzz(
        patterns,
        seeds,
        modules=[
            "doorkeeper.server.security.java_regex",
            "doorkeeper.server.security.java_regex_classes",
            "doorkeeper.server.security.java_regex_parsing",
        ],
    )


@pytest.mark.slow
def test_any_store_is_read_or_rejected() -> None:
    texts = (
        world().alice.key_pem("x"),
        world().alice.chain_pem,
        crl_pem(world().authority.revoked(world().bob)),
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n-----END RSA PRIVATE KEY-----",
    )
    fuzz(stores, [text.encode() for text in texts], modules=["doorkeeper.base.tls.pem"])


SEEDS = (
    b"RULE:[2:$1.$2@$0](.*@EXAMPLE\\.COM)s/@.*//gL\nalice/host@EXAMPLE.COM",
    b"RULE:[1:$1](a|b[^c]+)s/(.)(?<n>.*)/$2${n}\\$/U\nabc@R",
    b"DEFAULT\nalice@EXAMPLE.COM",
    b"RULE:[1:$1]s/(a*)*b/x/\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac@R",
)
MODULES = (
    "doorkeeper.server.security.java_regex",
    "doorkeeper.server.security.java_regex_classes",
    "doorkeeper.server.security.java_regex_parsing",
    "doorkeeper.server.security.kerberos_rules",
)


def rule_and_name(data: bytes) -> None:
    """Read a rule, and give it a name: a short name, or an error of a line."""
    rule, _, name = data.decode("utf-8", "replace").partition("\n")
    try:
        namer = ShortNamer("EXAMPLE.COM", [rule])
    except ValueError as error:
        told = str(error)
        assert told.startswith("Invalid rule: ")
        return
    with suppress(NoShortName):
        found = namer.short_name(name)
        assert "@" not in found


def displayed(data: bytes) -> None:
    """Write a name as Java does, whatever its bytes."""
    assert isinstance(full_name(data), str)


@pytest.mark.slow
@pytest.mark.parametrize("target", [rule_and_name, displayed])
def test_any_kerberos_rule_is_read_or_rejected(target: Callable[[bytes], None]) -> None:
    fuzz(target, SEEDS, modules=MODULES)


JAAS_SEEDS = (
    b"KafkaServer {\n a.B required k=\"v\" user_x='y';\n c.D optional;\n};\n",
    b'a.B required k="\\101\\"\\n" /* c */ k2=w // d\n;',
    b'A { b sufficient p="${user.home}${/}x${{y}}"; }; "B" { };',
)
JAAS_MODULES = (
    "doorkeeper.base.jaas",
    "doorkeeper.server.config.jaas_file",
)
SECRET = "\x01hush\x01"


def entry(data: bytes) -> None:
    """Read a text as ``sasl.jaas.config``: modules, or an error that shows nothing of it."""
    with suppress(jaas.JaasError):
        modules = jaas.parse(data.decode("utf-8", "surrogateescape"))
        assert modules
        assert SECRET not in repr(modules)


def sections(data: bytes) -> None:
    """Read a text as a file: sections, or an error that shows nothing of it."""
    text = data.decode("utf-8", "replace")
    try:
        found = jaas_file.parse(text, {"/": "/", "user.home": SECRET})
    except jaas.JaasError as error:
        told = str(error)
    else:
        told = f"line {found!r}"
    assert told.startswith("line ")
    assert SECRET not in told


@pytest.mark.slow
@pytest.mark.parametrize("target", [entry, sections])
def test_any_jaas_text_is_read_or_rejected(target: Callable[[bytes], None]) -> None:
    fuzz(target, JAAS_SEEDS, modules=JAAS_MODULES)
