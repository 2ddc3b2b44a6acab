"""The credential that is asked about: a file or a name, or those of a client's properties.

Of a token, only the claims that rules read leave this module; a private key beside a certificate is
not decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.base.distinguished_name import NotDer, subject_of
from doorkeeper.base.tls.pem import PemError, blocks_of
from doorkeeper.cli.whoami.name_derivation import (
    BearerToken,
    Certificate,
    UserName,
)
from doorkeeper.client.logins import Bearer, Password
from doorkeeper.server.security.handlers_contract import TokenRefused
from doorkeeper.server.security.oauth.json_text import (
    InvalidJson,
    decode_base64url,
    json_object,
    lenient_json_object,
)
from doorkeeper.server.security.oauth.unsecured import unsigned_claims

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.cli.whoami.name_derivation import Credential
    from doorkeeper.client.config import ClientConfig

_FILE_BYTES_MAX: Final = 1024 * 1024


class InvalidCredential(ValueError):
    """A file has no certificate, or no token."""


def certificate_in(file: Path) -> Certificate:
    """Return the first certificate of a file, PEM or DER.

    Raises:
        InvalidCredential: it has none.
    """
    data = _read(file)
    try:
        # DER begins with the tag of a SEQUENCE.
        if data[:1] == b"\x30":
            return Certificate(subject_of(data))
        blocks = [block for block in blocks_of(data, "CERTIFICATE") if block.der]
    except NotDer:
        hint = "for a key store, write PEM with keytool -exportcert -rfc or openssl pkcs12 -nokeys"
        raise InvalidCredential(f"{file}: not a certificate; {hint}") from None
    except PemError as error:
        raise InvalidCredential(f"{file}: {error}") from None
    if not blocks:
        raise InvalidCredential(f"{file}: found no PEM block CERTIFICATE")
    try:
        return Certificate(subject_of(blocks[0].der))
    except NotDer as error:
        raise InvalidCredential(f"{file}: the first certificate is malformed: {error}") from None


def token_in(file: Path) -> BearerToken:
    """Return the claims of the token in a file.

    Raises:
        InvalidCredential: it has none that can be read.
    """
    try:
        return token_of(_read(file).decode("ascii").strip())
    except (InvalidCredential, UnicodeDecodeError) as error:
        why = error if isinstance(error, InvalidCredential) else "not ASCII"
        raise InvalidCredential(f"{file}: {why}") from None


def token_of(text: str) -> BearerToken:
    """Return the claims of a token.

    Raises:
        InvalidCredential: it is not a JSON Web Token.
    """
    parts = text.split(".")
    if len(parts) != 3:
        raise InvalidCredential(
            "not a JSON Web Token; expected: three parts separated by dots. Only the server can"
            " resolve opaque or encrypted tokens"
        )
    try:
        header = lenient_json_object(decode_base64url(parts[0]))
        if header.get("alg") == "none":
            return BearerToken(unsigned_claims(text), is_signed=False)
        return BearerToken(json_object(decode_base64url(parts[1])), is_signed=True)
    except (InvalidJson, TokenRefused) as error:
        raise InvalidCredential(f"not a JSON Web Token: {error}") from None


async def credential_of(config: ClientConfig) -> Credential | None:
    """Return the credential of a client; None if it has none, or one whose owner is not in it.

    Raises:
        LoginRefused: the file of its token cannot be read.
        InvalidCredential: its token cannot be read.
    """
    login = config.login
    if isinstance(login, Password):
        return None if login.by_token else UserName(login.name, login.mechanism)
    if isinstance(login, Bearer):
        return token_of(await login.token())
    return Certificate(config.certificate_name) if config.certificate_name else None


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            # Bounded: a wrong path may name a file of any size.
            return opened.read(_FILE_BYTES_MAX)
    except OSError as error:
        raise InvalidCredential(f"{file}: {error.strerror or error}") from None
