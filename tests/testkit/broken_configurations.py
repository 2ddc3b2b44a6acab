"""Configurations of brokers with one fault each, of several kinds, and their valid originals."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, NamedTuple

from testkit.certificates import PASSWORD, jks, trust_store, world

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SECURITY = "org.apache.kafka.common.security"
PLAIN = f"{SECURITY}.plain.PlainLoginModule required"
SCRAM = f"{SECURITY}.scram.ScramLoginModule required"
OAUTH = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required"
USERS = 'username="admin" password="admin-pw" user_admin="admin-pw" user_bob="bob-pw";'

CLIENT_PORT = "{client}"
CONTROLLER_PORT = "{controller}"


class Variant(NamedTuple):
    """A configuration with a fault; ``fault`` says which. Ports are filled in later."""

    kind: str
    fault: str
    text: str
    jaas: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.fault}"


Keys = dict[str, str]


def _combined(protocols: str, **keys: str) -> Keys:
    """Return the keys of a node that is broker and controller; ``__`` in a name is a dot."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@localhost:{CONTROLLER_PORT}",
        "listeners": f"CLIENTS://localhost:{CLIENT_PORT},CONTROLLER://localhost:{CONTROLLER_PORT}",
        "advertised.listeners": f"CLIENTS://localhost:{CLIENT_PORT}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": protocols,
        "inter.broker.listener.name": "CLIENTS",
        "authorizer.class.name": STANDARD,
        "super.users": "User:admin;User:ANONYMOUS",
        **{name.replace("__", "."): value for name, value in keys.items()},
    }


def _tls(folder: Path, form: str) -> Keys:
    if form == "PEM":
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(folder / "server.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / "trust.pem"),
        }
    end = {"PKCS12": "p12", "JKS": "jks"}[form]
    return {
        "ssl.keystore.type": form,
        "ssl.keystore.location": str(folder / f"server.{end}"),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.type": form,
        "ssl.truststore.location": str(folder / f"trust.{end}"),
        "ssl.truststore.password": PASSWORD,
    }


def write_stores(folder: Path) -> None:
    """Write the key stores, trust stores and the keytab that the configurations name."""
    authority = world().authority
    # For both ends of a handshake: a broker connects to itself.
    server = authority.certify(("CN", "localhost"), hosts=("localhost", "127.0.0.1"))
    server.write_pem(folder / "server.pem")
    (folder / "trust.pem").write_text(authority.pem)
    (folder / "server.p12").write_bytes(server.pkcs12())
    trust_store(folder / "trust.p12", "PKCS12", authority)
    jks(server, folder / "server.jks")
    trust_store(folder / "trust.jks", "JKS", authority)
    (folder / "kafka.keytab").write_bytes(_keytab("kafka", "localhost", realm="EXAMPLE.COM"))
    (folder / "krb5.conf").write_text("[libdefaults]\n default_realm = EXAMPLE.COM\n")


def _keytab(*components: str, realm: str) -> bytes:
    """Return a keytab of one AES-256 key, in the format 0x0502 of MIT Kerberos."""

    def counted(data: bytes) -> bytes:
        return struct.pack(">H", len(data)) + data

    names = b"".join(counted(each.encode()) for each in components)
    entry = struct.pack(">H", len(components)) + counted(realm.encode()) + names
    entry += struct.pack(">IIB", 1, 0, 1) + struct.pack(">H", 18) + counted(bytes(range(32)))
    return b"\x05\x02" + struct.pack(">i", len(entry)) + entry


def originals(folder: Path) -> Mapping[str, tuple[Keys, str]]:
    """Return valid configurations and their JAAS files by kind; ``folder`` has the stores."""
    return {**_with_passwords(), **_with_tls(folder), **_with_other_logins(folder)}


_CLEAR = "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
_SASL = {"sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.inter.broker.protocol": "PLAIN"}
_CLIENTS = {"listener.name.clients.plain.sasl.jaas.config": f"{PLAIN} {USERS}"}
_TO_CONTROLLER = {
    "listener.name.controller.plain.sasl.jaas.config": f"{PLAIN} {USERS}",
    "sasl.mechanism.controller.protocol": "PLAIN",
}


def _with_passwords() -> Mapping[str, tuple[Keys, str]]:
    both = _combined("CLIENTS:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT")
    controller = {
        "process.roles": "controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@localhost:{CONTROLLER_PORT}",
        "listeners": f"CONTROLLER://localhost:{CONTROLLER_PORT}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        **_TO_CONTROLLER,
        "authorizer.class.name": STANDARD,
        "super.users": "User:admin",
    }
    return {
        "PLAIN": ({**_combined(_CLEAR), **_SASL, **_CLIENTS}, ""),
        "PLAIN to the controller": ({**both, **_SASL, **_CLIENTS, **_TO_CONTROLLER}, ""),
        "controller": (controller, ""),
    }


def _with_tls(folder: Path) -> Mapping[str, tuple[Keys, str]]:
    one = {
        **_combined("CLIENTS:SSL,CONTROLLER:PLAINTEXT", ssl__client__auth="required"),
        **_tls(folder, "PKCS12"),
        "ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/L,DEFAULT",
        "super.users": "User:ANONYMOUS;User:localhost",
    }
    both = {
        **_combined("CLIENTS:SSL,CONTROLLER:SSL", ssl__client__auth="required"),
        **_tls(folder, "JKS"),
        "super.users": "User:CN=localhost",
        "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    }
    sasl = {
        **_combined("CLIENTS:SASL_SSL,CONTROLLER:PLAINTEXT"),
        **_SASL,
        **_CLIENTS,
        **_tls(folder, "PEM"),
    }
    return {"SSL": (one, ""), "SSL to the controller": (both, ""), "SASL_SSL": (sasl, "")}


def _with_other_logins(folder: Path) -> Mapping[str, tuple[Keys, str]]:
    scram = {
        **_combined(_CLEAR),
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "delegation.token.secret.key": "0123456789",
    }
    oauth = {
        **_combined(_CLEAR),
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        "connections.max.reauth.ms": "3600000",
        "listener.name.clients.oauthbearer.sasl.jaas.config": (
            f'{OAUTH} unsecuredLoginStringClaim_sub="admin";'
        ),
    }
    gssapi = {
        **_combined(_CLEAR),
        **_SASL,
        **_CLIENTS,
        "sasl.enabled.mechanisms": "GSSAPI,PLAIN",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.principal.to.local.rules": (
            "RULE:[2:$1](.*)s/^.*$/kafka/,RULE:[1:$1]/L,DEFAULT"
        ),
        "listener.name.clients.gssapi.sasl.jaas.config": (
            f"{KERBEROS} useKeyTab=true storeKey=true isInitiator=false"
            f' keyTab="{folder}/kafka.keytab" principal="kafka/localhost@EXAMPLE.COM";'
        ),
    }
    jaas = f'KafkaServer {{\n  {SCRAM}\n  username="admin" password="admin-pw";\n}};\n'
    return {
        "SCRAM in a JAAS file": (scram, jaas),
        "OAUTHBEARER": (oauth, ""),
        "GSSAPI": (gssapi, ""),
    }


# --- faults: each changes keys, and returns what it did or an empty text --------------------

Fault = "Callable[[Keys, random.Random], str]"


def _security(keys: Keys) -> list[str]:
    left = {"node.id", "controller.quorum.voters"}
    return [key for key in keys if key not in left]


def _remove(keys: Keys, drawn: random.Random) -> str:
    key = drawn.choice(_security(keys))
    del keys[key]
    return f"without {key}"


def _misspell(keys: Keys, drawn: random.Random) -> str:
    key = drawn.choice(_security(keys))
    at = drawn.randrange(len(key) - 1)
    wrong = drawn.choice(
        [key[:at] + key[at + 1 :], key[:at] + key[at + 1] + key[at] + key[at + 2 :]]
    )
    if wrong == key:
        return ""
    keys[wrong] = keys.pop(key)
    return f"{key} misspelled as {wrong}"


_PREFIX = "listener.name."


def _wrong_prefix(keys: Keys, drawn: random.Random) -> str:
    prefixed = [key for key in keys if key.startswith(_PREFIX)]
    if not prefixed:
        return ""
    key = drawn.choice(prefixed)
    listener, _, rest = key.removeprefix(_PREFIX).partition(".")
    mechanism, _, bare = rest.partition(".")
    wrong = drawn.choice(
        [
            f"{_PREFIX}{listener.upper()}.{rest}",
            f"{_PREFIX}{listener[:-1]}.{rest}",
            f"{_PREFIX}{listener}.{mechanism.upper()}.{bare}",
            f"{_PREFIX}{listener}.{mechanism.replace('-', '_')}x.{bare}",
            f"{_PREFIX}{listener}.{bare}",
            bare,
            f"{mechanism}.{bare}",
        ]
    )
    keys[wrong] = keys.pop(key)
    return f"{wrong} for {key}"


def _jaas(keys: Keys, drawn: random.Random) -> str:
    modules = [key for key in keys if key.endswith("sasl.jaas.config")]
    if not modules:
        return ""
    key = drawn.choice(modules)
    value = keys[key]
    change: Mapping[str, str] = {
        "no semicolon": value.rstrip(";"),
        "no flag": value.replace(" required", ""),
        "a wrong flag": value.replace(" required", " require"),
        "a wrong class": value.replace("LoginModule", "LoginModul", 1),
        "a wrong package": value.replace(".security.", ".securty.", 1),
        "two modules": f"{value} {value}",
        "an option without a value": value.replace('="', ' "', 1),
        "single option name": value.replace(";", " debug;"),
        "an open quotation": value.replace('";', ";"),
        "empty": "",
        "a number": value.replace('="', "=12 x=", 1),
    }
    what = drawn.choice(list(change))
    if change[what] == value:
        return ""
    keys[key] = change[what]
    return f"{key}: {what}"


def _listeners(keys: Keys, drawn: random.Random) -> str:
    key = drawn.choice(
        ["listener.security.protocol.map", "listeners", "controller.listener.names",
         "inter.broker.listener.name", "advertised.listeners"]
    )  # fmt: skip
    if key not in keys:
        return ""
    value = keys[key]
    wrong = drawn.choice(
        [
            value.partition(",")[0] if "," in value else value + "X",
            value.replace("CONTROLLER", "CONTROL", 1),
            value.replace("CLIENTS", "CLIENT", 1),
            value.replace("://", ":/", 1),
            value.replace("PLAINTEXT", "PLAIN_TEXT", 1),
            value.replace("SASL_PLAINTEXT", "SASL", 1),
            value.replace("SSL", "TLS", 1),
            value.replace("localhost", "0.0.0.0", 1),
            value.replace(CONTROLLER_PORT, CLIENT_PORT),
            f"{value},{value}",
            value.replace(",", ";"),
            f'"{value}"',
        ]
    )
    if wrong == value:
        return ""
    keys[key] = wrong
    return f"{key}={wrong}"


def _super_users(keys: Keys, drawn: random.Random) -> str:
    keys["super.users"] = drawn.choice(
        [
            "admin",
            "User:ANONYMOUS;admin",
            "User:admin,User:ANONYMOUS",
            "admin;ANONYMOUS",
            "User=admin;User:ANONYMOUS",
            "user:anonymous;user:admin;user:CN=localhost",
            ":admin;User:ANONYMOUS",
            "User:*",
            '"User:admin;User:ANONYMOUS"',
        ]
    )
    return f"super.users={keys['super.users']}"


def _authorizer(keys: Keys, drawn: random.Random) -> str:
    keys["authorizer.class.name"] = drawn.choice(
        [
            "kafka.security.authorizer.AclAuthorizer",
            "kafka.security.auth.SimpleAclAuthorizer",
            "org.apache.kafka.metadata.authorizer.StandardAuthorizr",
            "org.apache.kafka.server.authorizer.StandardAuthorizer",
            "StandardAuthorizer",
        ]
    )
    return f"authorizer.class.name={keys['authorizer.class.name']}"


def _value(keys: Keys, drawn: random.Random) -> str:
    """Set a key to a value that is none of its values."""
    options = {
        "connections.max.reauth.ms": ["1h", "", "3600000.5"],
        "delegation.token.max.lifetime.ms": ["7d", "-1"],
        "principal.builder.class": [
            "org.apache.kafka.common.security.auth.DefaultPrincipalBuilder",
            "org.apache.kafka.common.security.authenticator.DefaultPrincipalBuilder",
        ],
        "security.inter.broker.protocol": ["SASL_PLAINTEXT", "PLAINTEXT"],
        "early.start.listeners": ["ADMIN", "CONTROLLER,X"],
        "process.roles": ["", "brokr", "broker;controller", "zookeeper"],
    }
    if any("SASL" in value for value in keys.values()):
        options |= {
            "sasl.mechanism.inter.broker.protocol": ["SCRAM-SHA-512", "plain", "KERBEROS"],
            "sasl.enabled.mechanisms": ["", "plain", "PLAIN,SCRAM-SHA-256", "PLAIN;GSSAPI"],
            "sasl.mechanism.controller.protocol": ["SCRAM-SHA-512", "plain", ""],
        }
    if "ssl.keystore.type" in keys:
        options |= _values_of_tls(keys)
    if "sasl.kerberos.service.name" in keys:
        options["sasl.kerberos.principal.to.local.rules"] = [
            "RULE:[1:$1](.*)s/a,b/c/", "RULE:1:$1", "rule:[1:$1]", "DEFAULT;RULE:[1:$1]",
        ]  # fmt: skip
    key = drawn.choice(list(options))
    wrong = drawn.choice(options[key])
    if keys.get(key) == wrong:
        return ""
    keys[key] = wrong
    return f"{key}={wrong}"


def _values_of_tls(keys: Keys) -> dict[str, list[str]]:
    return {
        "ssl.client.auth": ["yes", "Required", "want"],
        "ssl.keystore.type": ["PEM", "P12", "JKS", "pem", "pkcs12"],
        "ssl.truststore.type": ["PEM", "P12", "JKS"],
        "ssl.keystore.location": [keys["ssl.keystore.location"] + "x", ""],
        "ssl.truststore.location": [keys["ssl.truststore.location"] + "x"],
        "ssl.keystore.password": ["wrong", ""],
        "ssl.truststore.password": ["wrong"],
        "ssl.key.password": ["wrong"],
        "ssl.keystore.key": ["-----BEGIN PRIVATE KEY-----"],
        "ssl.keystore.certificate.chain": ["-----BEGIN CERTIFICATE-----"],
        "ssl.truststore.certificates": ["-----BEGIN CERTIFICATE-----"],
        "ssl.protocol": ["TLS1.2", "TLSv1_3"],
        "ssl.enabled.protocols": ["TLS1.2", "TLSv1.2;TLSv1.3", "tlsv1.3"],
        "ssl.cipher.suites": ["ECDHE-RSA-AES256-GCM-SHA384", "HIGH"],
        "ssl.principal.mapping.rules": [
            "RULE:^CN=(.*?),.*$/$1", "RULE:^CN=(.*?,.*$/$1/", "RULE:^CN=([a-z]+),.*$", "DEFAULTS",
            "RULE:^CN=(.*?)$/$1/X",
        ],
    }  # fmt: skip


def _no_login(keys: Keys, drawn: random.Random) -> str:
    """Take the login of the node itself away from the users, or change its password."""
    modules = [key for key in keys if key.endswith("plain.sasl.jaas.config")]
    if not modules:
        return ""
    key = drawn.choice(modules)
    old, new = drawn.choice(
        [
            ('user_admin="admin-pw"', 'user_admin="other"'),
            ("user_admin=", "user_Admin="),
            ('username="admin"', 'username="root"'),
            ('username="admin" ', ""),
            (' user_admin="admin-pw"', ""),
        ]
    )
    keys[key] = keys[key].replace(old, new)
    return f"{key}: {new or 'without'} for {old}"


FAULTS = (
    *(_remove, _remove, _misspell, _wrong_prefix, _wrong_prefix, _jaas, _jaas, _listeners),
    *(_listeners, _super_users, _authorizer, _value, _value, _value, _no_login),
)


def _jaas_file(text: str, drawn: random.Random) -> tuple[str, str]:
    change = {
        "no semicolon at the end": text.rstrip(";\n") + "\n",
        "another section": text.replace("KafkaServer", "Kafka"),
        "the section of clients": text.replace("KafkaServer", "KafkaClient"),
        "a section of another listener": text.replace("KafkaServer", "CLIENTS.KafkaServer"),
        "no semicolon": text.replace('";', '"'),
        "a wrong class": text.replace("ScramLoginModule", "ScramLoginModul"),
        "a value without quotes": text.replace('"admin-pw"', "'x'"),
    }
    what = drawn.choice(list(change))
    return what, change[what]


def variants(folder: Path, count: int, seed: int) -> list[Variant]:
    """Return configurations with one fault each, all different; the same for the same seed."""
    drawn = random.Random(seed)
    known = originals(folder)
    made: dict[str, Variant] = {}
    while len(made) < count:
        kind = drawn.choice(list(known))
        keys, jaas = dict(known[kind][0]), known[kind][1]
        if jaas and drawn.random() < 0.3:
            fault, jaas = _jaas_file(jaas, drawn)
        else:
            fault = drawn.choice(FAULTS)(keys, drawn)
        if fault:
            made.setdefault(fault + kind, Variant(kind, fault, text_of(keys), jaas))
    return list(made.values())


def text_of(keys: Keys) -> str:
    """Return keys as a properties file."""
    return "".join(f"{key}={value}\n" for key, value in keys.items())


def valid(folder: Path) -> list[Variant]:
    """Return the originals, as variants without a fault."""
    return [
        Variant(kind, "", text_of(keys), jaas) for kind, (keys, jaas) in originals(folder).items()
    ]
