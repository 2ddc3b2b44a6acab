"""``doorkeeper whoami`` against a real broker: the principal in its authorizer log.

Random subjects of certificates log in to listeners with chains of rules, and Kerberos principals of
a KDC to one with rules. ``whoami`` reads the broker's own file.
"""

from __future__ import annotations

import os
import random
import re
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from cryptography import x509
from cryptography.x509.name import _ASN1Type

from doorkeeper.cli.whoami.credentials import certificate_in
from doorkeeper.cli.whoami.name_derivation import Outcome, Ticket, derive
from doorkeeper.server.config.loading import load
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit import kerberos
from testkit.certificates import PASSWORD, trust_store, world
from testkit.e2e import command
from testkit.kafka_broker import KafkaBroker, free_port
from testkit.kafka_jars import cannot, jars, tool_jars
from testkit.kafka_target import USERS, kafka_target
from testkit.kdc import Kdc, missing_packages
from testkit.kerberos import ANY_ACL, SERVER, Login, principals_seen
from testkit.kerberos import Ticket as TicketOfAClient
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.serving import Conversation
from testkit.tls import client_context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.server.config.listeners import Listener
    from testkit.certificates import Certified
    from testkit.oracle_totals import Totals

pytestmark = pytest.mark.interop

DOCUMENTED: Final = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT"
)
"""The example of Kafka's documentation."""
CHAINS: Final = (
    "DEFAULT",
    DOCUMENTED,
    r"RULE:^.*OU=([^,+\\]*).*$/ou-$1/U",
    r"RULE:^(?:.*,)?UID=([^,]+),?.*$/$1/,RULE:^1\.2\.840.*=#(.*)$/$1/U,RULE:[^,]*,(.*)/$1/,DEFAULT",
)
SEEN: Final = re.compile(r"Principal = (.*) is Denied operation = DESCRIBE ")
SEEN_S: Final = 20
SAMPLE, MANY = 15, 1000
TICKETS, MANY_TICKETS = 12, 200
TICKET_RULES: Final = (
    r"RULE:[2:$1.$2](.*\.host[0-9])s/\./-/g/U,"
    r"RULE:[1:$1@$0](C[a-z0-9]*@EXAMPLE\.COM)s/@.*//L,"
    r"RULE:[2:$1@$0](no.*),"
    r"DEFAULT"
)


# --- certificates


def subjects(count: int) -> list[x509.Name]:
    """Return random subjects: usual and rare attributes, odd characters, several in one part."""
    chance = random.Random(count)
    oids = [x509.ObjectIdentifier(oid) for oid in ("2.5.4.3", "2.5.4.10", "2.5.4.11")] * 3
    oids += [
        x509.ObjectIdentifier(oid)
        for oid in (
            *("2.5.4.6", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.5", "2.5.4.12"),
            *("0.9.2342.19200300.100.1.1", "0.9.2342.19200300.100.1.25"),
            *("1.2.840.113549.1.9.1", "1.3.6.1.4.1.99999.7"),
        )
    ]
    words = [
        "alice",
        "Bob",
        "ServiceUsers",
        "Example",
        "a.b",
        "svc-1",
        "Müller",
        "日本",
        "\U0001f600",
    ]
    odd = [*",+\"\\<>;=# /@:'", "  ", "é"]

    def attribute() -> x509.NameAttribute[str]:
        value = "".join(chance.choice(words if chance.random() < 0.6 else odd) for _ in range(3))
        kinds = [_ASN1Type.UTF8String]
        if value.isascii():
            kinds += [_ASN1Type.IA5String, _ASN1Type.T61String]
        oid = chance.choice(oids)
        # A country has two letters.
        value = "DE" if oid == x509.ObjectIdentifier("2.5.4.6") else value
        return x509.NameAttribute(oid, value, chance.choice(kinds), _validate=False)

    def part() -> x509.RelativeDistinguishedName:
        number = 2 if chance.random() < 0.1 else 1
        found = {each.oid: each for each in (attribute() for _ in range(number))}
        return x509.RelativeDistinguishedName(found.values())

    return [x509.Name([part() for _ in range(chance.randint(1, 5))]) for _ in range(count)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Give a broker with a listener for each chain, which requires certificates."""
    folder = tmp_path_factory.mktemp("broker")
    (folder / "server.p12").write_bytes(world().server.pkcs12())
    trust_store(folder / "trusted.p12", "PKCS12", world().authority)
    names = [f"RULES{number}" for number in range(len(CHAINS))]
    addresses = ",".join(f"{name}://localhost:{free_port()}" for name in names)
    made = or_skip(
        lambda: KafkaBroker(jars("4.3.1"), users=USERS, overrides={}, audit_level="info")
    )
    values = made._properties
    for key in ("listeners", "advertised.listeners"):
        values[key] = f"{values[key]},{addresses}"
    values["listener.security.protocol.map"] += "".join(f",{name}:SSL" for name in names)
    values |= {
        "ssl.keystore.location": str(folder / "server.p12"),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(folder / "trusted.p12"),
        "ssl.truststore.password": PASSWORD,
    }
    for name, chain in zip(names, CHAINS, strict=True):
        prefix = f"listener.name.{name.lower()}"
        values[f"{prefix}.ssl.client.auth"] = "required"
        values[f"{prefix}.ssl.principal.mapping.rules"] = chain.replace("\\", "\\\\")
    try:
        made.start()
        yield made
    finally:
        made.stop()


def listeners_of(broker: KafkaBroker) -> list[Listener]:
    """Return the listeners with rules, as the broker's file has them."""
    found = load(broker.properties).settings.listeners
    return [each for each in found if each.name.startswith("RULES")]


def is_served(listener: Listener, certified: Certified, folder: Path) -> bool:
    """Ask for ACLs, which leaves a line; say whether an answer came."""
    with Conversation(listener.port) as talk:
        context = client_context(certified, folder)
        talk.socket = context.wrap_socket(talk.socket, server_hostname="localhost")
        try:
            talk.call(ANY_ACL, DescribeAclsResponse, 1)
        except (EOFError, ConnectionError, ssl.SSLError):
            return False
    return True


def seen(broker: KafkaBroker, count: int) -> list[str]:
    """Wait for so many lines of the authorizer log; return the principals in them."""
    deadline = time.monotonic() + scaled(SEEN_S)
    while True:
        found = [match[1] for match in SEEN.finditer(broker.log.read_text("utf-8"))]
        if len(found) >= count or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def agree_on_certificates(
    broker: KafkaBroker, folder: Path, totals: Totals, names: list[x509.Name]
) -> None:
    """Log in with a certificate of each name on a listener, in turn on each; compare."""
    listeners = listeners_of(broker)
    before = len(seen(broker, 0))
    expected: list[str] = []
    for place, name in enumerate(names):
        certified = world().authority.certify_name(name)
        file = folder / "client.pem"
        certified.write_pem(file)
        listener = listeners[place % len(listeners)]
        derivation = derive(listener, certificate_in(file))

        assert is_served(listener, certified, folder) is (derivation.outcome is Outcome.PRINCIPAL)
        if derivation.principal is not None:
            expected.append(derivation.principal)
        totals.compared["whoami: certificates, beside a broker"] += 1

    found = seen(broker, before + len(expected))[before:]
    assert found == expected
    assert len(expected) > len(names) / 2


def test_certificate_principals(broker: KafkaBroker, tmp_path: Path, totals: Totals) -> None:
    agree_on_certificates(broker, tmp_path, totals, subjects(SAMPLE))


@pytest.mark.slow
def test_a_thousand_certificates(broker: KafkaBroker, tmp_path: Path, totals: Totals) -> None:
    """A thousand random subjects."""
    agree_on_certificates(broker, tmp_path, totals, subjects(MANY))


# --- Kerberos


def principals(count: int) -> list[str]:
    """Return random names of a realm, as kadmin takes them."""
    chance = random.Random(count)
    words = ["alice", "Carol", "kafka", "nobody", "a.b", "svc-1", "x_y", "Dave"]
    found: dict[str, None] = {}
    while len(found) < count:
        first = f"{chance.choice(words)}{chance.randint(0, 99)}"
        second = chance.choice(["", "", "/host1", "/host22", "/admin", f"/{chance.choice(words)}"])
        found[first + second] = None
    return list(found)


def agree_on_tickets(folder: Path, totals: Totals, names: list[str]) -> None:
    """Log in with a ticket of each name; compare."""
    missing = missing_packages()
    if missing is not None:
        cannot(missing)
    before = dict(os.environ)
    with Kdc() as kdc:
        kdc.add(SERVER, *names)
        keytab = kdc.keytab("server.keytab", SERVER)
        clients = kdc.keytab("clients.keytab", *names)
        os.environ.update(kerberos.environment(kdc))
        keys = kerberos.server_properties(kdc, keytab, TICKET_RULES)
        target = or_skip(lambda: kafka_target(audit_level="info", **keys))
        try:
            assert isinstance(target.server, KafkaBroker)
            [listener] = [
                each
                for each in load(target.server.properties).settings.listeners
                if each.authenticates
            ]
            expected = []
            for name in names:
                cache = kdc.ticket_cache("cache", clients, name)
                principal = derive(listener, Ticket(f"{name}@{kdc.realm}", kdc.realm)).principal
                with Login(target) as login:
                    login.log_in(TicketOfAClient(cache))
                    is_served = login.describe_acls() != kerberos.CLOSED
                assert is_served is (principal is not None), name
                expected += [] if principal is None else [principal]
                totals.compared["whoami: Kerberos names, beside a broker"] += 1
            assert principals_seen(target, len(expected)) == expected
        finally:
            target.close()
            os.environ.clear()
            os.environ.update(before)


def test_kerberos_principals(tmp_path: Path, totals: Totals) -> None:
    agree_on_tickets(tmp_path, totals, principals(TICKETS))


@pytest.mark.slow
def test_many_tickets(tmp_path: Path, totals: Totals) -> None:
    """Two hundred names."""
    agree_on_tickets(tmp_path, totals, principals(MANY_TICKETS))


# --- what brokers tell


@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.6.2", "4.3.1"])
def test_live_login(tmp_path: Path, totals: Totals, release: str) -> None:
    broker = or_skip(
        lambda: KafkaBroker(
            tool_jars(release), users=USERS, overrides={"delegation.token.secret.key": "a secret"}
        )
    )
    file = tmp_path / "bob.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required"
        f' username="bob" password="{USERS["bob"]}";\n'
    )
    try:
        broker.start()
        words = ("whoami", f"localhost:{broker.sasl_port}", "--command-config", str(file))
        refused, owner = (command(tmp_path, *words, *more)[1] for more in ((), ("--create-token",)))
    finally:
        broker.stop()

    is_named = release == "3.6.2"
    assert refused.splitlines()[0] == f"User:bob ({'known' if is_named else 'inferred'})"
    assert ("known: the error of DescribeAcls names it\n" in refused) is is_named
    assert owner.startswith("User:bob (known)\n")
    assert (
        "known: it owned a delegation token that was created for this check and expired"
        " immediately\n"
    ) in owner
    totals.compared["whoami: live logins at a broker"] += 2
