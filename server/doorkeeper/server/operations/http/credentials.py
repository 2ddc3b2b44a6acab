"""Access to the operations port: bearer tokens, or names and passwords, from files.

Every digest is compared, in constant time. The files hold the credentials in clear: protect them
as private keys.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from doorkeeper.base.secret_files import read_secrets

TOKEN_CHARACTERS_MIN: Final = 16
"""Shorter tokens could be guessed."""

FILE_BYTES_MAX: Final = 65_536
"""Some hundred tokens: each is compared at each request."""


class Credentials:
    """The digests of all tokens and users."""

    __slots__ = ("_tokens", "_users")

    def __init__(self, tokens: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        """``users`` are texts ``name:password``."""
        self._tokens = tuple(map(_digest, tokens))
        self._users = tuple(map(_digest, users))

    def admit(self, authorization: str) -> bool:
        """Return whether an ``Authorization`` header holds valid credentials."""
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() == "bearer":
            return _matches(secret.strip(), self._tokens)
        if scheme.lower() == "basic":
            try:
                text = base64.b64decode(secret.strip(), validate=True).decode("utf-8")
            except (binascii.Error, ValueError):
                return False
            return _matches(text, self._users)
        return False


def read_credentials(tokens_file: Path | None, users_file: Path | None) -> Credentials:
    """Read both files; None is an absent one."""
    tokens = _lines(tokens_file)
    for number, token in tokens:
        if len(token) < TOKEN_CHARACTERS_MIN or not token.isascii() or " " in token:
            raise ValueError(
                f"{tokens_file}: line {number}: found {len(token)} characters; allowed: a token of"
                f" {TOKEN_CHARACTERS_MIN} or more ASCII characters without spaces"
            )
    users = _lines(users_file)
    for number, user in users:
        name, colon, password = user.partition(":")
        if not (name and colon and password):
            raise ValueError(f"{users_file}: line {number}: expected: name:password")
    return Credentials((token for _, token in tokens), (user for _, user in users))


def _lines(file: Path | None) -> list[tuple[int, str]]:
    """Return the lines with their numbers, without empty lines and ``#`` comments."""
    if file is None:
        return []
    text = read_secrets(file, FILE_BYTES_MAX)
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    entries = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not entries:
        raise ValueError(f"{file}: found no entries; expected: at least one line")
    return entries


def _digest(text: str) -> bytes:
    # A header holds any bytes; those that are no UTF-8 come as lone surrogates.
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _matches(text: str, digests: tuple[bytes, ...]) -> bool:
    digest_of_text, is_match = _digest(text), False
    # No early exit: the time must not depend on which credential matches.
    for digest in digests:
        is_match |= hmac.compare_digest(digest_of_text, digest)
    return is_match
