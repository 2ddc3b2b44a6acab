"""Delegation tokens: what they are, and the rules by which they come, live longer and go.

A token has an id, which is the name with which it logs in, and an HMAC of that id under the secret
``delegation.token.secret.key``, which is the password. Nobody keeps the HMAC: whoever has the
secret computes it. Times are milliseconds of the wall clock.

Source: ``DelegationTokenControlManager`` and ``DelegationTokenManager`` of Kafka 4.3.1; KIP-48,
KIP-373.
"""

from __future__ import annotations

import hmac
from hashlib import pbkdf2_hmac
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from doorkeeper.acl.model import ANONYMOUS, Principal
from doorkeeper.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.request_context import RequestContext

USER: Final = "User"
"""The only type of principals that may renew a token."""

TIME_MAX: Final = 2**63 - 1

_FINGERPRINT_ROUNDS: Final = 20_000
"""12 ms for us, once for each secret; as much for each guess of somebody who reads the store."""


class Token(NamedTuple):
    """One token, as it is now. It may be renewed until ``max_ms``."""

    token_id: str
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issue_ms: int
    expiry_ms: int
    max_ms: int

    def concerns(self, principal: Principal) -> bool:
        """Say whether somebody owns the token, asked for it or may renew it."""
        return principal in (self.owner, self.requester) or principal in self.renewers

    def concerns_one_of(self, principals: frozenset[Principal]) -> bool:
        """Say whether it concerns one of many, in the time that it takes for one."""
        return not principals.isdisjoint((self.owner, self.requester, *self.renewers))

    def may_be_renewed_by(self, principal: Principal) -> bool:
        """Say whether somebody owns the token or is named as a renewer: the others are not told."""
        return principal == self.owner or principal in self.renewers

    def has_expired(self, now_ms: int) -> bool:
        """Say whether its time is over."""
        return self.expiry_ms < now_ms or self.max_ms < now_ms


class SignedToken(NamedTuple):
    """A token, and what logs in with it."""

    token: Token
    hmac: bytes

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"SignedToken({self.token!r})"


class Lifetimes(NamedTuple):
    """For how many milliseconds a token may be renewed, and how long it lives without that."""

    max_ms: int
    expiry_ms: int


class NewToken(NamedTuple):
    """A token that shall be made."""

    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    max_lifetime_ms: int

    def made(self, token_id: str, now_ms: int, lifetimes: Lifetimes) -> Token:
        """Return the token."""
        lifetime_ms = lifetimes.max_ms
        if self.max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, self.max_lifetime_ms)
        max_ms = min(now_ms + lifetime_ms, TIME_MAX)
        expiry_ms = min(max_ms, now_ms + lifetimes.expiry_ms)
        return Token(token_id, self.owner, self.requester, self.renewers, now_ms, expiry_ms, max_ms)


class Renewal(NamedTuple):
    """A token that shall live longer."""

    hmac: bytes
    period_ms: int
    caller: Principal

    def of(self, token: Token, now_ms: int, lifetimes: Lifetimes) -> Token:
        """Return the token with its new end.

        Raises:
            ApiError: 66 where it has expired, then 63 where the caller has no right to it.

        """
        if token.has_expired(now_ms):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        if not token.may_be_renewed_by(self.caller):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
        period_ms = lifetimes.expiry_ms
        if self.period_ms > 0:
            period_ms = min(period_ms, self.period_ms)
        return token._replace(expiry_ms=min(token.max_ms, now_ms + period_ms))

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"Renewal(for {self.period_ms} ms, {self.caller})"


class Expiration(NamedTuple):
    """A token that shall end: at once where the period is negative, else after it."""

    hmac: bytes
    period_ms: int
    caller: Principal

    def of(self, token: Token, now_ms: int) -> Token | None:
        """Return the token with its new end; None where that is now.

        Raises:
            ApiError: 63 where the caller has no right to it, then 66 where it has expired already.

        """
        if not token.may_be_renewed_by(self.caller):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
        if self.period_ms < 0:
            return None
        if token.has_expired(now_ms):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        return token._replace(expiry_ms=min(token.max_ms, now_ms + self.period_ms))

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"Expiration(in {self.period_ms} ms, {self.caller})"


TokenWish = NewToken | Renewal | Expiration


class TokenReads(Protocol):
    """The part of the tokens that handlers may see."""

    @property
    def enabled(self) -> bool:
        """Say whether there is a secret."""
        ...

    def signed(self) -> Iterable[SignedToken]:
        """Return all tokens of the present secret, with their HMACs."""
        ...


def hmac_of(secret: str, token_id: str) -> bytes:
    """Return what a token logs in with: 64 bytes, whose base64 is the password."""
    return hmac.digest(secret.encode("utf-8", "replace"), token_id.encode(), "sha512")


def fingerprint_of(secret: str) -> bytes:
    """Return what tells the tokens of one secret from those of another, in the store."""
    octets = secret.encode("utf-8", "replace")
    return pbkdf2_hmac("sha512", octets, b"doorkeeper delegation tokens", _FINGERPRINT_ROUNDS, 16)


def may_ask(context: RequestContext) -> bool:
    """Say whether a caller has proved who it is, and not with a token."""
    asked = context.authorizable
    if context.token_authenticated or asked.security_protocol == "PLAINTEXT":
        return False
    return asked.security_protocol != "SSL" or asked.principal != ANONYMOUS
