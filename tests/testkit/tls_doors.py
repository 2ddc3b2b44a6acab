"""Servers with every kind of TLS listener: a Doorkeeper, and a broker with the same keys.

TLS         SSL, nobody is asked for a certificate
ASKED       SSL, a certificate is requested
MUTUAL      SSL, a certificate is required; names as they are
SHORT       as MUTUAL, with the rules of Kafka's documentation
LOGIN       SASL_SSL with PLAIN
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testkit.certificates import PASSWORD, crl_pem, trust_store, world
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import KafkaBroker, free_port, jaas
from testkit.kafka_jars import jars
from testkit.kafka_target import RELEASES, STANDARD, USERS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from testkit.certificates import Certified

DOORS = {"TLS": "SSL", "ASKED": "SSL", "MUTUAL": "SSL", "SHORT": "SSL", "LOGIN": "SASL_SSL"}
RULES = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT"
)
DENIED = re.compile(r"Principal = (.*) is Denied operation = DESCRIBE ")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsDoors:
    """One server and the ports of its listeners."""

    server: DoorkeeperServer | KafkaBroker
    ports: Mapping[str, int]

    def address(self, listener: str) -> str:
        """Return what clients dial."""
        return f"localhost:{self.ports[listener]}"

    def denied(self) -> list[str]:
        """Return the principals that the authorizer has denied something, in order."""
        found = []
        for line in self.server.log.read_text().splitlines():
            text = json.loads(line)["event"] if line.startswith("{") else line
            match = DENIED.search(text)
            if match is not None:
                found.append(match[1])
        return found

    def close(self) -> None:
        """Stop the server."""
        if isinstance(self.server, DoorkeeperServer):
            self.server.close()
        else:
            self.server.stop()


def keys(folder: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """Return the keys of the listeners; the stores are files in the folder."""
    (folder / "server.p12").write_bytes(world().server.pkcs12())
    trust_store(folder / "trusted.p12", "PKCS12", world().authority)
    both = {f"listener.name.{door}.ssl.client.auth": "required" for door in ("mutual", "short")}
    return {
        "listeners": ",".join(f"{name}://localhost:{ports[name]}" for name in DOORS),
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in DOORS.items()),
        # The default type: JKS, which reads PKCS12.
        "ssl.keystore.location": str(folder / "server.p12"),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(folder / "trusted.p12"),
        "ssl.truststore.password": PASSWORD,
        **both,
        "listener.name.asked.ssl.client.auth": "requested",
        "listener.name.short.ssl.principal.mapping.rules": RULES,
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": jaas(USERS),
        "authorizer.class.name": STANDARD,
    }


def doorkeeper_doors(folder: Path, *revoked: Certified) -> TlsDoors:
    """Start a Doorkeeper; MUTUAL refuses what was revoked."""
    ports = {name: free_port() for name in DOORS}
    (folder / "revoked.pem").write_text(crl_pem(world().authority.revoked(*revoked)))
    properties = {
        **keys(folder, ports),
        "inter.broker.listener.name": "TLS",
        "listener.name.mutual.doorkeeper.ssl.crl.file": str(folder / "revoked.pem"),
        "super.users": "User:admin;User:alice",
        "doorkeeper.kafka.release": RELEASES["4.3.1"],
    }
    server = DoorkeeperServer(properties, ports=tuple(ports.values()))
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    return TlsDoors(server=server, ports=ports)


def kafka_doors(folder: Path, release: str) -> TlsDoors:
    """Start a real broker, which has its own two listeners in clear besides.

    Raises:
        Unavailable: this machine cannot have it.
    """
    ports = {name: free_port() for name in DOORS}
    broker = KafkaBroker(jars(release), users=USERS, overrides={}, audit_level="info")
    plain = broker._properties
    ours = keys(folder, ports)
    for key in ("listeners", "listener.security.protocol.map"):
        ours[key] = f"{plain[key]},{ours[key]}"
    advertised = [f"{name}://localhost:{ports[name]}" for name in DOORS]
    ours["advertised.listeners"] = ",".join([plain["advertised.listeners"], *advertised])
    plain.update(ours)
    try:
        broker.start()
    except BaseException:
        broker.stop()
        raise
    return TlsDoors(server=broker, ports=ports)
