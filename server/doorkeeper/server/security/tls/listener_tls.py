"""The present TLS context of one listener; rebuilt when one of its files changes.

Existing connections keep their context. A file that cannot be used leaves the present context in
use; so does a certificate for another name, unless the configuration allows it, as on a broker
(KIP-978).
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper.base.distinguished_name import name_of
from doorkeeper.base.tls.keys import (
    SSL_ALLOW_DN_CHANGES,
    SSL_ALLOW_SAN_CHANGES,
    SSL_KEYSTORE_LOCATION,
)
from doorkeeper.base.tls.settings import TlsError, TlsSettings
from doorkeeper.base.tls.sources import FILES, files_of
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from doorkeeper.server.security.tls.context import BuiltContext, build_context

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


class ListenerTls:
    """The TLS context for new connections of a listener.

    ``refresh`` may run in another thread than the readers of ``context``.
    """

    __slots__ = ("_files", "_used", "settings")

    def __init__(self, settings: TlsSettings, logger: Logger) -> None:
        self.settings = settings
        self._used: BuiltContext | None = None
        paths = (settings[key] for key in FILES)
        self._files = ReloadedFiles(
            self._build, logger, *(Path(path) for path in paths if path is not None)
        )

    @property
    def context(self) -> ssl.SSLContext:
        return self._files.value.context

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._files.value.warnings

    def refresh(self) -> None:
        """Reload changed files."""
        self._files.refresh()

    def _build(self) -> BuiltContext:
        """Build a context; any exception becomes a TlsError.

        Certificates are parsed lazily, so that malformed ones raise various errors only when used.
        """
        settings = self.settings
        try:
            built = build_context(settings, files_of(settings))
        except TlsError:
            raise
        except Exception as error:
            text = f"the certificate or key cannot be used ({type(error).__name__})"
            raise settings.problem(
                SSL_KEYSTORE_LOCATION, f"{settings[SSL_KEYSTORE_LOCATION]}: {text}"
            ) from error
        if self._used is not None:
            _check_same_name(settings, self._used, built)
        self._used = built
        return built

    def check_follows(self, before: ListenerTls) -> None:
        """Reject a certificate for another name than the one before, as after a refresh.

        Raises:
            TlsError: the subject or the alternative names have changed.
        """
        _check_same_name(self.settings, before._files.value, self._files.value)


def _check_same_name(settings: TlsSettings, before: BuiltContext, built: BuiltContext) -> None:
    """Reject a certificate for another name."""
    old, new = before.certificate, built.certificate
    names = [name_of(certificate.subject.public_bytes()) for certificate in (old, new)]
    # Without this a client that verifies the host name would fail after the reload.
    if names[0] != names[1] and not settings[SSL_ALLOW_DN_CHANGES]:
        raise settings.problem(
            SSL_KEYSTORE_LOCATION,
            f"{settings[SSL_KEYSTORE_LOCATION]}: the certificate is for {names[1]!r}, the"
            f" previous one was for {names[0]!r}; to allow this, set ssl.allow.dn.changes=true",
        )
    missing = _alternative_names(old) - _alternative_names(new)
    if missing and not settings[SSL_ALLOW_SAN_CHANGES]:
        raise settings.problem(
            SSL_KEYSTORE_LOCATION,
            f"{settings[SSL_KEYSTORE_LOCATION]}: the certificate lacks the alternative names"
            f" {', '.join(sorted(missing))} of the previous one; to allow this, set"
            " ssl.allow.san.changes=true",
        )


def _alternative_names(certificate: Certificate) -> set[str]:
    from cryptography.x509 import SubjectAlternativeName

    values = (extension.value for extension in certificate.extensions)
    names = (value for value in values if isinstance(value, SubjectAlternativeName))
    return {str(name.value) for listed in names for name in listed}
