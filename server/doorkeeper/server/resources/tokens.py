"""Delegation tokens: the model, and the rules of issue, renewal and expiry.

A token's id is its user name, and the HMAC of the id with ``delegation.token.secret.key`` is its
password. The HMAC is not stored: each node with the secret computes it. Times are milliseconds of
the wall clock.

Source: ``DelegationTokenControlManager`` and ``DelegationTokenManager`` of Kafka 4.3.1; KIP-48,
KIP-373.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import pbkdf2_hmac
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.runtime.request_context import RequestContext

USER: Final = "User"
"""The only type of principals that may renew a token."""

TIME_MAX: Final = 2**63 - 1

# Takes 12 ms, once for each secret, and makes each guess from a stolen store as expensive.
_FINGERPRINT_ROUNDS: Final = 20_000


class Token(Struct, frozen=True):
    """A token. It may be renewed until ``max_ms``."""

    token_id: str
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issue_ms: int
    expiry_ms: int
    max_ms: int

    def concerns_one_of(self, principals: frozenset[Principal]) -> bool:
        """Return whether any principal is the owner, requester or a renewer; O(renewers)."""
        return not principals.isdisjoint((self.owner, self.requester, *self.renewers))

    def may_be_renewed_by(self, principal: Principal) -> bool:
        """Return whether a principal is the owner or a renewer. The requester may not renew."""
        return principal == self.owner or principal in self.renewers

    def has_expired(self, now_ms: int) -> bool:
        return self.expiry_ms < now_ms or self.max_ms < now_ms


class SignedToken(Struct, frozen=True):
    """A token and its HMAC."""

    token: Token
    hmac: bytes

    def __repr__(self) -> str:
        return f"SignedToken({self.token!r})"


class Lifetimes(Struct, frozen=True):
    """Maximum lifetime of a token, and its period of renewal, in milliseconds."""

    max_ms: int
    expiry_ms: int


class NewToken(Struct, frozen=True):
    """A token to create."""

    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    max_lifetime_ms: int

    def issue(self, token_id: str, now_ms: int, lifetimes: Lifetimes) -> Token:
        lifetime_ms = lifetimes.max_ms
        if self.max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, self.max_lifetime_ms)
        max_ms = min(now_ms + lifetime_ms, TIME_MAX)
        expiry_ms = min(max_ms, now_ms + lifetimes.expiry_ms)
        return Token(token_id, self.owner, self.requester, self.renewers, now_ms, expiry_ms, max_ms)


class _Alteration(Struct, frozen=True):
    hmac: bytes
    period_ms: int
    caller: Principal

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.period_ms} ms, {self.caller})"


class Renewal(_Alteration, frozen=True):
    """A renewal of a token."""

    def of(self, token: Token, now_ms: int, lifetimes: Lifetimes) -> Token:
        """Return the token with its new expiry.

        Raises:
            ApiError: 66 if it has expired, else 63 if the caller may not renew it.
        """
        if token.has_expired(now_ms):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        if not token.may_be_renewed_by(self.caller):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
        period_ms = lifetimes.expiry_ms
        if self.period_ms > 0:
            period_ms = min(period_ms, self.period_ms)
        return replace(token, expiry_ms=min(token.max_ms, now_ms + period_ms))


class Expiration(_Alteration, frozen=True):
    """An early end of a token: at once for a negative period, else after the period."""

    def of(self, token: Token, now_ms: int) -> Token | None:
        """Return the token with its new expiry; None to delete it.

        Raises:
            ApiError: 63 if the caller may not expire it, else 66 if it has expired.
        """
        # The order of both checks differs from that of a renewal, as in Kafka.
        if not token.may_be_renewed_by(self.caller):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
        if self.period_ms < 0:
            return None
        if token.has_expired(now_ms):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        return replace(token, expiry_ms=min(token.max_ms, now_ms + self.period_ms))


TokenWish = NewToken | Renewal | Expiration


class Tokens(Protocol):
    """The delegation tokens of the current secret, as handlers use them."""

    @property
    def is_enabled(self) -> bool: ...

    def signed_tokens(self) -> Iterable[SignedToken]:
        """Return all tokens with their HMACs."""
        ...

    async def change(self, wish: TokenWish, context: RequestContext) -> SignedToken:
        """Issue, renew or expire a token; return it as it is afterwards.

        Raises:
            ApiError: nothing was changed.
        """
        ...


def hmac_of(secret: str, token_id: str) -> bytes:
    """Return the HMAC of a token: 64 bytes, whose base64 text is the password."""
    return hmac.digest(secret.encode("utf-8", "replace"), token_id.encode(), "sha512")


def fingerprint_of(secret: str) -> bytes:
    """Return the fingerprint of a secret (16 bytes), which identifies its tokens in the store."""
    octets = secret.encode("utf-8", "replace")
    return pbkdf2_hmac("sha512", octets, b"doorkeeper delegation tokens", _FINGERPRINT_ROUNDS, 16)


def may_ask(context: RequestContext) -> bool:
    """Return whether a caller is authenticated, and not by a token."""
    asked = context.authorizable
    if context.token_authenticated or asked.security_protocol == "PLAINTEXT":
        # Kafka rejects such requests on PLAINTEXT, and on SSL without a client certificate.
        return False
    return asked.security_protocol != "SSL" or asked.principal != ANONYMOUS
