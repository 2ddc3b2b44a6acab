"""The TLS of one listener as it is at the moment: made anew when one of its files changes.

A connection keeps what it began with. A file that cannot be used leaves what is in use; so does a
certificate for another name, unless the configuration allows that, as on a broker (KIP-978).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from doorkeeper.authn.distinguished_name import name_of
from doorkeeper.tls.context import Made, made_of
from doorkeeper.tls.settings import TlsError
from doorkeeper.tls.sources import KEY_STORE, files_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping, Sequence

    from cryptography.x509 import Certificate

    from doorkeeper.tls.settings import TlsSettings


class ListenerTls:
    """What a listener's next connection is encrypted with.

    ``refresh`` may run in another thread than those who ask for ``context``.
    """

    __slots__ = ("_digests", "_made", "settings")

    def __init__(self, settings: TlsSettings) -> None:
        """Read the files.

        Raises:
            TlsError: a key, or what it names, cannot be used.

        """
        self.settings = settings
        files = files_of(settings)
        self._made = _made(settings, files)
        self._digests = _digests(files)

    @property
    def context(self) -> ssl.SSLContext:
        """Return what the next connection is encrypted with."""
        return self._made.context

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what people should hear about it."""
        return self._made.warnings

    def refresh(self) -> Sequence[str]:
        """Look whether the files have changed, and use them; return one line for each problem."""
        try:
            files = files_of(self.settings)
            digests = _digests(files)
            if digests == self._digests:
                return ()
            made = _made(self.settings, files)
            self._check_same_name(made)
        except TlsError as error:
            return (f"{error}; what was read before stays in use",)
        self._made, self._digests = made, digests
        return ()

    def _check_same_name(self, made: Made) -> None:
        """Refuse a certificate for somebody else.

        Raises:
            TlsError: name or alternative names have changed.

        """
        settings, old, new = self.settings, self._made.certificate, made.certificate
        names = [name_of(each.subject.public_bytes()) for each in (old, new)]
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


def _made(settings: TlsSettings, files: Mapping[str, bytes]) -> Made:
    """Make a context.

    Raises:
        TlsError: whatever goes wrong: some certificates are read when they are first looked at,
            and what is odd about them raises what nobody has foreseen.

    """
    try:
        return made_of(settings, files)
    except TlsError:
        raise
    except Exception as error:
        what = f"a certificate or key cannot be used ({type(error).__name__})"
        raise settings.problem(KEY_STORE, f"{settings.text(KEY_STORE)}: {what}") from error


def _alternative_names(certificate: Certificate) -> set[str]:
    from cryptography.x509 import (  # noqa: PLC0415 - TLS only
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
