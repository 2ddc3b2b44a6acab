"""SASL PLAIN (RFC 4616): the client sends ``authorization id NUL name NUL password``.

The users are the options ``user_NAME="password"`` of the JAAS entry. Passwords are kept as digests
under a key of this process: what is compared has always the same length, a name that nobody has
costs the same as one that exists, and neither a dump nor a repr shows a password.

Source: ``PlainSaslServer`` and ``PlainServerCallbackHandler`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from doorkeeper.authn.contract import Failure, Step, Success
from doorkeeper.authn.provider import Provider
from doorkeeper_wire.java_text import JAVA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.authn.contract import AuthenticationContext
    from doorkeeper.authn.provider import MechanismSettings, Sources

_USER_PREFIX = "user_"

PARTS_MAX = 4
"""Kafka stops to count the parts of a token here, so that its text never says more."""


class PlainUsers:
    """Who may log in, and the check of a password."""

    __slots__ = ("_digests", "_key", "_nobody")

    def __init__(self, passwords: Mapping[str, str]) -> None:
        """Keep a digest for each password."""
        self._key = secrets.token_bytes(32)
        self._digests = {name: self._digest(text) for name, text in passwords.items()}
        self._nobody = secrets.token_bytes(32)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._digests)} users)"

    def accepts(self, name: str, password: str) -> bool:
        """Say whether this is the user's password; in the same time for every answer."""
        return hmac.compare_digest(self._digests.get(name, self._nobody), self._digest(password))

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode("utf-8", "surrogatepass"), "sha256")


class Plain:
    """One authentication: a single token decides."""

    __slots__ = ("_users",)

    def __init__(self, users: PlainUsers) -> None:
        """Check against these users."""
        self._users = users

    def step(self, token: bytes) -> Step:
        """Decide. The texts, and the order of the checks, are Kafka's."""
        parts = token.decode("utf-8", JAVA).split("\0", PARTS_MAX)[:PARTS_MAX]
        if len(parts) != 3:
            return refusal(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, name, password = parts
        if not name:
            return refusal("Authentication failed: username not specified")
        if not password:
            return refusal("Authentication failed: password not specified")
        if not self._users.accepts(name, password):
            return refusal("Authentication failed: Invalid username or password")
        if authorization_id not in ("", name):
            return refusal(
                "Authentication failed: Client requested an authorization id that is different"
                " from username"
            )
        return Success(name)


def refusal(text: str) -> Failure:
    """Return a failure whose text is for the client and for the log."""
    return Failure(text, text)


class PlainProvider(Provider):
    """PLAIN on one listener."""

    def __init__(self, users: PlainUsers) -> None:
        """Let these users in."""
        self._users = users

    def begin(self, context: AuthenticationContext) -> Plain:  # noqa: ARG002  all are alike
        """Return a mechanism for one authentication."""
        return Plain(self._users)


def provider(settings: MechanismSettings, sources: Sources) -> Provider:  # noqa: ARG001  asks none
    """Return PLAIN with the users of the listener's login module."""
    module = settings.login_module
    options = {} if module is None else module.options
    return PlainProvider(
        PlainUsers(
            {
                name.removeprefix(_USER_PREFIX): password
                for name, password in options.items()
                if name.startswith(_USER_PREFIX)
            }
        )
    )
