"""The trusted certificates for fetching keys by HTTPS.

By default those of the system. As on a broker, options of the login module replace them:
``ssl.truststore.type=PEM``, and ``ssl.truststore.location`` or ``ssl.truststore.certificates``. A
file is read again when it changes; a broker reads it at its start.

Source: ``JaasOptionsUtils.createSSLSocketFactory`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from doorkeeper.base.tls.keys import (
    SSL_TRUSTSTORE_CERTIFICATES,
    SSL_TRUSTSTORE_LOCATION,
    SSL_TRUSTSTORE_TYPE,
)
from doorkeeper.server.config.sasl_keys import SASL_JAAS_CONFIG
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles

if TYPE_CHECKING:
    from ssl import SSLContext

    from doorkeeper.server.config.sasl import MechanismSettings

TYPE: Final = SSL_TRUSTSTORE_TYPE.name
LOCATION: Final = SSL_TRUSTSTORE_LOCATION.name
CERTIFICATES: Final = SSL_TRUSTSTORE_CERTIFICATES.name


def reloaded_trust(settings: MechanismSettings, logger: Logger) -> ReloadedFiles[SSLContext]:
    """Return the TLS context for fetching keys, made again when its file changes.

    Raises:
        ValueError: an option is wrong, or the file cannot be used.
    """
    file = _options(settings).get(LOCATION)
    files = [] if file is None else [Path(file)]
    return ReloadedFiles(partial(trust_context, settings), logger, *files)


def _options(settings: MechanismSettings) -> Mapping[str, str]:
    module = settings.login_module
    return {
        name: value.strip()
        for name, value in ({} if module is None else module.options).items()
        if name.startswith("ssl.") and value.strip()
    }


def trust_context(settings: MechanismSettings) -> SSLContext:
    """Return the TLS context for fetching keys; without options, that of the system's CAs."""
    options = _options(settings)
    if not options:
        return _client_context()
    key = settings.full_name(SASL_JAAS_CONFIG)
    others = sorted(options.keys() - {TYPE, LOCATION, CERTIFICATES})
    if others:
        allowed = f"{TYPE}, {LOCATION}, {CERTIFICATES}"
        raise ValueError(
            f"{key}: found the option {others[0]}; allowed options that begin with ssl.: {allowed}"
        )
    kind = options.get(TYPE, "JKS")
    if kind.upper() != "PEM":
        raise ValueError(f"{key}: {TYPE}: found {kind}; allowed here: PEM")
    if (LOCATION in options) == (CERTIFICATES in options):
        raise ValueError(f"{key}: give either {LOCATION} or {CERTIFICATES}")
    # Imported here: ssl is slow to import, and few servers fetch keys.
    import ssl

    try:
        return _client_context(options.get(LOCATION), options.get(CERTIFICATES))
    except (ssl.SSLError, TypeError):
        # Non-ASCII PEM raises TypeError.
        source = options.get(LOCATION, CERTIFICATES)
        raise ValueError(f"{key}: {source}: contains no PEM certificate") from None
    except OSError as error:
        raise ValueError(f"{key}: {options[LOCATION]}: {error.strerror}") from None


def _client_context(file: str | None = None, certificates: str | None = None) -> SSLContext:
    # Imported here because TLS is slow to import, and most servers fetch nothing.
    import ssl

    context = ssl.create_default_context(cafile=file, cadata=certificates)
    # Java's rules on every Python. The first is set since 3.13: it rejects certificates without an
    # Authority Key Identifier, which many private authorities issue. The second is not before 3.13:
    # without it an authority below a root is not trusted.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
