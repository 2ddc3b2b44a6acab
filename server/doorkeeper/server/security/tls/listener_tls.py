"""The present TLS context of one listener; rebuilt when one of its files changes.

Existing connections keep their context. A file that cannot be used leaves the present context in
use; so does a certificate for another name, unless the configuration allows it, as on a broker
(KIP-978).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from doorkeeper.base.distinguished_name import name_of
from doorkeeper.base.tls.settings import TlsError
from doorkeeper.base.tls.sources import KEY_STORE, files_of
from doorkeeper.server.security.tls.context import BuiltContext, build_context

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping, Sequence

    from cryptography.x509 import Certificate

    from doorkeeper.base.tls.settings import TlsSettings


class ListenerTls:
    """The TLS context for new connections of a listener.

    ``refresh`` may run in another thread than the readers of ``context``.
    """

    __slots__ = ("_built", "_digests", "settings")

    def __init__(self, settings: TlsSettings) -> None:
        """Read the files.

        Raises:
            TlsError: a key, or a file that it names, cannot be used.
        """
        self.settings = settings
        files = files_of(settings)
        self._built = _build(settings, files)
        self._digests = _digests(files)

    @property
    def context(self) -> ssl.SSLContext:
        return self._built.context

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._built.warnings

    def refresh(self) -> Sequence[str]:
        """Reload changed files; return one line for each problem."""
        try:
            files = files_of(self.settings)
            digests = _digests(files)
            # By content: tools that renew certificates may touch files without a change.
            if digests == self._digests:
                return ()
            built = _build(self.settings, files)
            _check_same_name(self.settings, self._built, built)
        except TlsError as error:
            return (f"{error}; the previous certificates remain in use",)
        # One assignment each: readers in other threads see the old or the new context.
        self._built, self._digests = built, digests
        return ()

    def check_follows(self, before: ListenerTls) -> None:
        """Reject a certificate for another name than the one before, as after a refresh.

        Raises:
            TlsError: the subject or the alternative names have changed.
        """
        _check_same_name(self.settings, before._built, self._built)


def _check_same_name(settings: TlsSettings, before: BuiltContext, built: BuiltContext) -> None:
    """Reject a certificate for another name.

    Raises:
        TlsError: the subject or the alternative names have changed.
    """
    old, new = before.certificate, built.certificate
    names = [name_of(each.subject.public_bytes()) for each in (old, new)]
    # Without this a client that verifies the host name would fail after the reload.
    if names[0] != names[1] and not settings.flag("ssl.allow.dn.changes"):
        raise settings.problem(
            KEY_STORE,
            f"{settings.text(KEY_STORE)}: the certificate is for {names[1]!r}, the one before"
            f" was for {names[0]!r}; ssl.allow.dn.changes=true allows that",
        )
    missing = _alternative_names(old) - _alternative_names(new)
    if missing and not settings.flag("ssl.allow.san.changes"):
        raise settings.problem(
            KEY_STORE,
            f"{settings.text(KEY_STORE)}: the certificate lacks the alternative names"
            f" {', '.join(sorted(missing))} of the one before; ssl.allow.san.changes=true"
            " allows that",
        )


def _build(settings: TlsSettings, files: Mapping[str, bytes]) -> BuiltContext:
    """Build a context; any exception becomes a TlsError.

    Certificates are parsed lazily, so that malformed ones raise various errors only when used.
    """
    try:
        return build_context(settings, files)
    except TlsError:
        raise
    except Exception as error:
        what = f"a certificate or key cannot be used ({type(error).__name__})"
        raise settings.problem(KEY_STORE, f"{settings.text(KEY_STORE)}: {what}") from error


def _alternative_names(certificate: Certificate) -> set[str]:
    from cryptography.x509 import (
        ExtensionNotFound,
        SubjectAlternativeName,
    )

    try:
        names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    except ExtensionNotFound:
        return set()
    return {str(each.value) for each in names}


def _digests(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {key: hashlib.sha256(data).digest() for key, data in files.items()}
