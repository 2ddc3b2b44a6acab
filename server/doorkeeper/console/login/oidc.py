"""Login by OpenID Connect: authorization code with PKCE.

    begin   -> the provider's page, with a state, a nonce and a challenge that are used once
    finish  -> the code is exchanged for an ID token: signature, issuer, audience, times and nonce

The provider's keys are fetched at each login: there are few. A state counts in the browser that
began with it alone, which has its cookie. Redirects of the provider are not followed.

Source: OpenID Connect Core 1.0, 3.1; RFC 7636 (PKCE), RFC 9207 (``iss`` of the response).
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Mapping
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

from msgspec import Struct

from doorkeeper.console.login.sessions import Role
from doorkeeper.server.config.http import is_loopback
from doorkeeper.server.runtime.clock import utc_ms
from doorkeeper.server.security.handlers_contract import TokenRefused, ValidatedToken
from doorkeeper.server.security.oauth.json_text import json_object

if TYPE_CHECKING:
    from doorkeeper.server.security.oauth.jwks import KeySet

# aiohttp and the signatures are half of a start, and only a provider needs them.
PENDING_S: Final = 600.0
"""How long a person may take at the provider."""

PENDING_MAX: Final = 1_000
PENDING_OF_PEER_MAX: Final = 100
"""Then its oldest gives way: one peer does not end the logins of others."""

DISCOVERY: Final = "/.well-known/openid-configuration"

_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Refused(Exception):
    """A login that fails, with the reason; nothing secret is in it."""


class Claim(Struct, frozen=True):
    """A claim of the ID token that gives a role; the value * is any."""

    name: str
    value: str

    def holds(self, claims: Mapping[str, object]) -> bool:
        """Say whether a token has the claim, as a text or in a list of texts."""
        claim_value = claims.get(self.name)
        values = claim_value if isinstance(claim_value, list) else [claim_value]
        texts = [value for value in values if isinstance(value, str)]
        return bool(texts) if self.value == "*" else self.value in texts


class Client(Struct, frozen=True):
    """How the provider knows the console, and who has which role."""

    issuer: str
    id: str
    redirect: str
    roles: tuple[tuple[Role, Claim], ...]
    secret: str = ""
    tls: SSLContext | None = None

    def __repr__(self) -> str:
        return f"Client({self.issuer}, {self.id})"


class _Pending(Struct, frozen=True):
    nonce: str
    verifier: str
    browser: str
    next: str
    peer: str
    ends_s: float


class Oidc:
    """The logins that have begun, and the provider."""

    def __init__(self, client: Client) -> None:
        """Take the client."""
        self._client = client
        self._pending: dict[str, _Pending] = {}
        self._provider: dict[str, str] | None = None

    async def begin(self, next_path: str, peer: str) -> tuple[str, str]:
        """Return the provider's page, and what the cookie of this browser has.

        Raises:
            Refused: the provider does not answer as it should.
        """
        provider = await self.provider()
        state, browser, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(4))
        earlier = [key for key, login in self._pending.items() if login.peer == peer]
        for key in earlier[: 1 - PENDING_OF_PEER_MAX]:
            del self._pending[key]
        ends_s = time.monotonic() + PENDING_S
        self._pending[state] = _Pending(nonce, verifier, browser, next_path, peer, ends_s)
        while len(self._pending) > PENDING_MAX:
            del self._pending[next(iter(self._pending))]
        digest = hashlib.sha256(verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": self._client.redirect,
            "scope": "openid profile email",
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        page = provider["authorization_endpoint"]
        return f"{page}{'&' if '?' in page else '?'}{urlencode(query)}", browser

    async def finish(self, fields: Mapping[str, str], browser: str) -> tuple[str, Role, str]:
        """Return the user, the role and the path after the login.

        Raises:
            Refused: the answer is not one to a login of this browser, or gives no role.
        """
        # Taken out: whatever comes of it, a state counts once.
        pending = self._pending.pop(fields.get("state", ""), None)
        if pending is None or pending.ends_s <= time.monotonic():
            raise Refused("the login was not begun here, or too long ago; begin again")
        if not secrets.compare_digest(pending.browser.encode(), browser.encode("utf-8", "replace")):
            raise Refused("the login was begun in another browser; begin again")
        issuer = fields.get("iss", self._client.issuer)
        if issuer != self._client.issuer:
            raise Refused(f"found the issuer {issuer[:100]!r}; expected: {self._client.issuer}")
        if "code" not in fields:
            raise Refused(f"the provider refused: {fields.get('error', 'no code')[:100]}")
        provider = await self.provider()
        token = await self._exchange(provider["token_endpoint"], fields["code"], pending.verifier)
        claims = await self._validated(provider["jwks_uri"], token, pending.nonce)
        for role, claim in self._client.roles:
            if claim.holds(claims):
                return user_of(claims), role, pending.next
        raise Refused(f"{user_of(claims)} has no role here")

    async def provider(self) -> dict[str, str]:
        """Return the endpoints of the provider, from its discovery document.

        Raises:
            Refused: there is none, or not of this issuer.
        """
        if self._provider is None:
            url = f"{self._client.issuer.rstrip('/')}{DISCOVERY}"
            document = await self._ask(url)
            if document.get("issuer") != self._client.issuer:
                raise Refused(f"{url}: found another issuer; expected {self._client.issuer}")
            for name in _ENDPOINTS:
                if not is_safe_url(document.get(name)):
                    text = f"found {document.get(name)!r:.80}; expected: an address with https"
                    raise Refused(f"{url}: {name}: {text}")
            self._provider = {name: str(document[name]) for name in _ENDPOINTS}
        return self._provider

    async def _exchange(self, url: str, code: str, verifier: str) -> str:
        client = self._client
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": client.redirect,
            "code_verifier": verifier,
        }
        login = {}
        if client.secret:
            # RFC 6749, 2.3.1: both are encoded as in a form first.
            pair = f"{quote_plus(client.id)}:{quote_plus(client.secret)}".encode()
            login["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        else:
            form["client_id"] = client.id
        token = (await self._ask(url, form, **login)).get("id_token")
        if not isinstance(token, str):
            raise Refused(f"{url}: found no ID token")
        return token

    async def _validated(self, keys_url: str, token: str, nonce: str) -> Mapping[str, object]:
        from doorkeeper.server.security.oauth.jwks import parse
        from doorkeeper.server.security.oauth.signed import ClaimRules, SignedTokens

        try:
            keys = parse(await self._read(keys_url))
        except ValueError as error:
            raise Refused(f"{keys_url}: {error}") from error
        rules = ClaimRules(audiences=frozenset({self._client.id}), issuer=self._client.issuer)
        try:
            valid = SignedTokens(_Fetched(keys), rules, utc_ms)(token)
        except TokenRefused as error:
            raise Refused(f"the ID token is refused: {error}") from error
        assert isinstance(valid, ValidatedToken), "there are no newer keys to wait for"
        claims = valid.claims
        claim = claims.get("nonce")
        if not isinstance(claim, str) or not secrets.compare_digest(claim.encode(), nonce.encode()):
            raise Refused("the ID token is refused: its nonce is not that of this login")
        if claims.get("azp", self._client.id) != self._client.id:
            raise Refused("the ID token is refused: it was issued for another client")
        return claims

    async def _ask(
        self, url: str, form: Mapping[str, str] | None = None, **headers: str
    ) -> dict[str, Any]:
        data = await self._read(url, form, **headers)
        try:
            return json_object(data)
        except ValueError as error:
            raise Refused(f"{url}: {error}") from error

    async def _read(self, url: str, form: Mapping[str, str] | None = None, **headers: str) -> bytes:
        import aiohttp

        from doorkeeper.server.security.oauth.jwks_url import cause_of, new_session, read_document

        try:
            async with new_session() as session:
                return await read_document(session, url, self._client.tls, form, **headers)
        except (ValueError, OSError, aiohttp.ClientError) as error:
            raise Refused(f"{url}: {cause_of(error)}") from None


class _Fetched(Struct, frozen=True):
    """Keys that were fetched just now."""

    keys: KeySet

    def fetch_newer(self) -> None:
        """Return None: there are no newer ones."""


def user_of(claims: Mapping[str, object]) -> str:
    """Return the name of a user, with the subject, which alone stays the same."""
    subject = str(claims.get("sub", ""))
    names = (claims.get("preferred_username"), claims.get("email"))
    name = next((name for name in names if isinstance(name, str) and name), subject)
    return name if name == subject else f"{name} ({subject})"


def is_safe_url(url: object) -> bool:
    """Say whether secrets may be sent to a URL: over https, or on this machine."""
    try:
        parts = urlsplit(str(url))
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.username is not None or not host:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
