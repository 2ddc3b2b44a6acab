r"""``--command-config``: the connection settings of a command, in a Java client's properties.

    security.protocol=SASL_SSL
    sasl.mechanism=SCRAM-SHA-512
    sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
        username="admin" password="...";
    ssl.truststore.type=PEM
    ssl.truststore.location=ca.pem

Other keys are ignored: files for Kafka's tools can be used unchanged. ``config_providers`` resolves
variables.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from typing import Any, Final

from doorkeeper.base import jaas
from doorkeeper.base.distinguished_name import subject_of
from doorkeeper.base.properties import PropertiesFile, read
from doorkeeper.base.tls.keys import SSL_KEYSTORE_KEY, SSL_KEYSTORE_LOCATION, TLS
from doorkeeper.base.tls.settings import TlsError, TlsSettings
from doorkeeper.base.values import INT_MAX
from doorkeeper.client.bearer_tokens import ENDPOINT_KEY, bearer_of
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.config_providers import VariableError, resolve
from doorkeeper.client.logins import Login, Password

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
"""The supported mechanisms, and the login module of each."""

NUMBERS: Final = {
    "request.timeout.ms": "request_timeout_ms",
    "default.api.timeout.ms": "timeout_ms",
    "retry.backoff.ms": "retry_ms",
    "retry.backoff.max.ms": "retry_max_ms",
}
"""The keys of times, and the field of each."""


class CommandConfigError(ValueError):
    """A setting of the file is missing or wrong; the text begins with the key."""


def client_config(
    bootstrap: str, path: PropertiesFile | None = None, *, controllers: bool = False
) -> ClientConfig:
    """Return the configuration for these servers, with the properties of a file if given.

    Of duplicate keys the last counts.

    Raises:
        CommandConfigError: a setting is wrong.
        ConfigError: the file cannot be read.
    """
    entries = () if path is None else read(path)
    values = {entry.key: entry.value.strip() for entry in entries}
    return client_config_of(bootstrap, values, controllers=controllers)


def client_config_of(
    bootstrap: str, properties: Mapping[str, str], *, controllers: bool = False
) -> ClientConfig:
    """Return the configuration for these servers; variables in the properties are resolved now.

    Raises:
        CommandConfigError: a setting is wrong.
    """
    values = _resolve_variables(properties)
    protocol = values.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise CommandConfigError(
            f"security.protocol: found {protocol}; allowed: {', '.join(PROTOCOLS)}"
        )
    login = _login(values) if protocol.startswith("SASL_") else None
    tls, certificate_name = _tls(values, protocol) if protocol.endswith("SSL") else (None, "")
    times: dict[str, Any] = {
        name: _number(values, key) for key, name in NUMBERS.items() if key in values
    }
    return ClientConfig(
        bootstrap=bootstrap,
        controllers=controllers,
        login=login,
        tls=tls,
        certificate_name=certificate_name,
        client_id=values.get("client.id") or "doorkeeper",
        **times,
    )


def _resolve_variables(values: Mapping[str, str]) -> Mapping[str, str]:
    if not any("${" in value for value in values.values()):
        return values
    try:
        return resolve(values, os.environ)
    except VariableError as error:
        raise CommandConfigError(str(error)) from None


def _number(values: Mapping[str, str], key: str) -> int:
    text = values[key]
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= INT_MAX:
        raise CommandConfigError(f"{key}: found {text!r}; allowed: 1 to {INT_MAX}")
    return int(text)


def _login(values: Mapping[str, str]) -> Login:
    # Kafka's default.
    mechanism = values.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MODULES:
        raise CommandConfigError(
            f"sasl.mechanism: found {mechanism}; allowed: {', '.join(MODULES)}"
        )
    key = "sasl.jaas.config"
    if key not in values:
        raise CommandConfigError(f"{key}: missing; {mechanism} requires it")
    try:
        modules = jaas.parse(values[key])
    except jaas.JaasError as error:
        raise CommandConfigError(f"{key}: {error}") from None
    if len(modules) != 1:
        raise CommandConfigError(f"{key}: found {len(modules)} login modules; expected: one")
    (module,) = modules
    # A Java client would load any class named here; this one knows these only.
    if module.name != MODULES[mechanism]:
        raise CommandConfigError(
            f"{key}: found {module.name}; {mechanism} requires {MODULES[mechanism]}"
        )
    if mechanism == "OAUTHBEARER":
        try:
            return bearer_of(module.options, values.get(ENDPOINT_KEY))
        except ValueError as error:
            raise CommandConfigError(str(error)) from None
    for option in ("username", "password"):
        if not module.options.get(option):
            raise CommandConfigError(f"{key}: the option {option} is missing or empty")
    return Password(
        mechanism,
        module.options["username"],
        module.options["password"],
        by_token=module.options.get("tokenauth", "").lower() == "true",
    )


def _tls(values: Mapping[str, str], protocol: str) -> tuple[ssl.SSLContext, str]:
    """Return the client's TLS context and the subject of its certificate, empty without one.

    The context has Java's stores or PEM, and the host name check.
    """
    defaults = {key.name: str(key.default) for key in TLS if key.default is not None}
    settings = TlsSettings(
        listener_name="client",
        security_protocol=protocol,
        values={**defaults, **values},
        given_as={key: key for key in values},
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # An empty algorithm switches the check off, as in Java clients.
    context.check_hostname = bool(values.get("ssl.endpoint.identification.algorithm", "https"))
    try:
        return context, _load(context, settings)
    except TlsError as error:
        raise CommandConfigError(str(error)) from None


def _load(context: ssl.SSLContext, settings: TlsSettings) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    from doorkeeper.base.tls.sources import files_of  # noqa: PLC0415  as above
    from doorkeeper.base.tls.stores import identity_of, trust, trust_store_of  # noqa: PLC0415

    files = files_of(settings)
    trusted = trust_store_of(settings, files)
    if trusted is None:
        context.load_default_certs()
    else:
        trust(context, trusted)
    if settings.is_given(SSL_KEYSTORE_LOCATION) or settings.is_given(SSL_KEYSTORE_KEY):
        identity = identity_of(settings, files)
        identity.load_into(context)
        return subject_of(identity.chain[0].public_bytes(Encoding.DER))
    return ""
