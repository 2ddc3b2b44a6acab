"""Connection settings for the usual client libraries."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doorkeeper.client.config import ClientConfig as AdminClientConfig
from doorkeeper.client.logins import Password
from doorkeeper.testing.configuration import MODULES, quote

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.testing.certificates import Certificate


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """The connection settings of one client on one listener. Fields that do not apply are None."""

    bootstrap_servers: str
    security_protocol: str
    mechanism: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    certificate: Certificate | None = None

    def kafka_python(self) -> dict[str, Any]:
        """Return keyword arguments for kafka-python's clients."""
        keys: dict[str, Any] = self._common()
        if self.ca_file is not None:
            keys["ssl_cafile"] = str(self.ca_file)
        if self.certificate is not None:
            keys["ssl_certfile"] = str(self.certificate.chain)
            keys["ssl_keyfile"] = str(self.certificate.key)
        return keys

    def aiokafka(self) -> dict[str, Any]:
        """Return keyword arguments for aiokafka's clients."""
        keys: dict[str, Any] = self._common()
        if self.ca_file is not None:
            keys["ssl_context"] = context = ssl.create_default_context(cafile=str(self.ca_file))
            if self.certificate is not None:
                context.load_cert_chain(str(self.certificate.chain), str(self.certificate.key))
        return keys

    def confluent_kafka(self) -> dict[str, Any]:
        """Return the configuration for confluent-kafka's clients, which is librdkafka's."""
        keys: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": self.security_protocol,
        }
        if self.mechanism is not None:
            keys["sasl.mechanism"] = self.mechanism
            keys["sasl.username"] = self.user
            keys["sasl.password"] = self.password
        if self.ca_file is not None:
            keys["ssl.ca.location"] = str(self.ca_file)
        if self.certificate is not None:
            keys["ssl.certificate.location"] = str(self.certificate.chain)
            keys["ssl.key.location"] = str(self.certificate.key)
        return keys

    def java(self) -> dict[str, str]:
        """Return the properties for Java's clients, including ``bootstrap.servers``."""
        keys = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": self.security_protocol,
        }
        if self.mechanism is not None:
            module = MODULES[self.mechanism]
            login = f"username={quote(self.user or '')} password={quote(self.password or '')}"
            keys["sasl.mechanism"] = self.mechanism
            keys["sasl.jaas.config"] = f"{module} required {login};"
        if self.ca_file is not None:
            keys["ssl.truststore.type"] = "PEM"
            keys["ssl.truststore.location"] = str(self.ca_file)
        if self.certificate is not None:
            keys["ssl.keystore.type"] = "PEM"
            keys["ssl.keystore.location"] = str(self.certificate.store)
        return keys

    def doorkeeper(self) -> AdminClientConfig:
        """Return the configuration for Doorkeeper's own client, ``doorkeeper.client``."""
        login = None
        if self.mechanism is not None:
            login = Password(self.mechanism, self.user or "", self.password or "")
        return AdminClientConfig(
            bootstrap=self.bootstrap_servers,
            login=login,
            tls=self.aiokafka().get("ssl_context"),
        )

    def write_java(self, path: Path) -> Path:
        """Write a file for ``--command-config``; return its path."""
        path.touch(mode=0o600)
        path.write_text(properties_text(self.java()), encoding="latin-1")
        return path

    def _common(self) -> dict[str, Any]:
        keys: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap_servers,
            "security_protocol": self.security_protocol,
        }
        if self.mechanism is not None:
            keys["sasl_mechanism"] = self.mechanism
            keys["sasl_plain_username"] = self.user
            keys["sasl_plain_password"] = self.password
        return keys


def properties_text(values: Mapping[str, str]) -> str:
    """Return the text of a Java properties file, ASCII only."""
    import javaproperties

    return "".join(f"{javaproperties.join_key_value(*pair)}\n" for pair in values.items())
