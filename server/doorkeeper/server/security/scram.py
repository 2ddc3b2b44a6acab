"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802), in Kafka's dialect, for users and delegation tokens.

A login takes two tokens: the client sends its name and receives salt and iterations; it proves that
it knows the password, and receives the server's proof. Passwords are neither sent nor stored.

Unknown names are not revealed: an unknown name gets a salt too, an HMAC of the name, and is refused
in the second round, with the text and the amount of work of a wrong password. A broker refuses it
in the first round, which reveals the existing users.

A client with the extension ``tokenauth=true`` logs in with a delegation token: the name is its id,
the password its HMAC, and the client becomes the token's owner until the token expires. A token's
credential is computed in a thread when it first logs in, and cached.

    client first   n,,n=alice,r=<nonce>[,tokenauth=true]
    server first   r=<nonce><server's part>,s=<salt>,i=<iterations>
    client final   c=biws,r=<both nonces>,p=<proof>
    server final   v=<signature>

Kafka's dialect: names are ASCII, with ``,`` and ``=`` escaped; channel binding is not supported,
and its value in the final message is not checked; a mandatory extension ``m=`` is ignored; there is
no ``e=``. Both sides sign the first three messages as Kafka reassembles them, which may differ from
the bytes received.

Source: ``ScramSaslServer``, ``ScramMessages``, ``ScramFormatter``, ``ScramServerCallbackHandler``
and ``DelegationTokenManager`` of Kafka 4.3.1.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from functools import partial
from inspect import isawaitable
from types import NoneType
from typing import Final

from msgspec import Struct

from doorkeeper.acls.model import Principal
from doorkeeper.base.credentials import (
    DIGESTS,
    ITERATIONS_MIN,
    ScramCredential,
    base_36,
    credential_of,
)
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.runtime.threads import beside
from doorkeeper.server.security.contract import (
    AuthenticationContext,
    Challenge,
    Failure,
    Step,
    Success,
)
from doorkeeper.server.security.guarded_handler import GuardedHandler, HandlerProvider, handler_of
from doorkeeper.server.security.handlers_contract import ScramCredentials
from doorkeeper.server.security.provider import Provider, Sources, TokenLogin

Users = Callable[[str], ScramCredential | Awaitable[ScramCredential | None] | None]
"""Returns the credential of a user, at once or later; None for an unknown one."""

# Half a kilobyte for each token; computing one again takes 4 ms of a thread.
TOKENS_KEPT_MAX: Final = 4096
# Each has a thread of its own; more of them would only wait for a processor.
TOKENS_AT_ONCE_MAX: Final = 4
_OTHER_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


class Account(Struct, frozen=True):
    """The credential and identity behind a name. ``expiry_ms`` and ``owner`` are a token's."""

    credential: ScramCredential
    authorization_id: str
    expiry_ms: int | None = None
    owner: Principal | None = None


class Decoys:
    """Credentials of unknown names: constant for each name, and valid for no proof.

    Salts have the form of those that Kafka's own tools make.
    """

    __slots__ = ("_key", "_keys", "_mechanism")

    def __init__(self, mechanism: str, key: bytes) -> None:
        """Derive salts from a secret key that survives restarts, so that salts do too."""
        self._mechanism = mechanism
        self._key = key
        size = hashlib.new(DIGESTS[mechanism]).digest_size
        # Random keys: no proof can match them, and they need not survive a restart.
        self._keys = (os.urandom(size), os.urandom(size))

    def salt(self, name: str) -> bytes:
        digest = hmac.digest(self._key, f"{self._mechanism}\0{name}".encode(), "sha512")
        return base_36(digest)

    def credential(self, name: str, iterations: int) -> ScramCredential:
        stored_key, server_key = self._keys
        return ScramCredential(self.salt(name), stored_key, server_key, iterations)


class TokenAccounts:
    """The accounts of delegation tokens, for one mechanism."""

    __slots__ = ("_decoys", "_kept", "_login", "_mechanism", "_slots")

    def __init__(
        self, mechanism: str, decoys: Decoys, login: Callable[[str], TokenLogin | None]
    ) -> None:
        self._mechanism = mechanism
        self._decoys = decoys
        self._login = login
        self._kept: OrderedDict[str, tuple[bytes, asyncio.Future[ScramCredential]]] = OrderedDict()
        self._slots = asyncio.Semaphore(TOKENS_AT_ONCE_MAX)

    def account(self, token_id: str) -> Account | Awaitable[Account | None] | None:
        """Return the account of a valid token; the credential may have to be computed first."""
        login = self._login(token_id)
        if login is None:
            self._kept.pop(token_id, None)
            return None
        cached = self._kept.get(token_id)
        # The HMAC changes if the token's secret does; a credential of the old one must not stay.
        if cached is None or not hmac.compare_digest(cached[0], login.hmac):
            # Clients that log in with the same token at once share one computation.
            cached = login.hmac, asyncio.ensure_future(self._credential(token_id, login))
            self._kept[token_id] = cached
        self._kept.move_to_end(token_id)
        if len(self._kept) > TOKENS_KEPT_MAX:
            self._kept.popitem(last=False)
        if not cached[1].done():
            return self._await_account(token_id, login, cached[1])
        return _account_of(login, cached[1].result())

    async def _credential(self, token_id: str, login: TokenLogin) -> ScramCredential:
        password, salt = b64encode(login.hmac).decode(), self._decoys.salt(token_id)
        compute = partial(credential_of, self._mechanism, password, ITERATIONS_MIN, salt)
        async with self._slots:
            return await beside(compute, "doorkeeper-tokens")

    async def _await_account(
        self, token_id: str, login: TokenLogin, computing: asyncio.Future[ScramCredential]
    ) -> Account:
        try:
            # A client that disconnects must not cancel the computation for the others.
            return _account_of(login, await asyncio.shield(computing))
        except BaseException:
            if computing.done() and self._kept.get(token_id, (b"", None))[1] is computing:
                del self._kept[token_id]
            raise


def _account_of(login: TokenLogin, credential: ScramCredential) -> Account:
    return Account(credential, login.owner.name, login.expiry_ms, login.owner)


class Accounts:
    """The accounts of one mechanism of one listener: users, and those of delegation tokens.

    ``iterations`` returns the number that unknown names are told; ``now_ms`` is the wall clock.
    """

    def __init__(self, mechanism: str, sources: Sources, users: Users) -> None:
        self.mechanism = mechanism
        self.users = users
        self.decoys = Decoys(mechanism, sources.salt_key)
        self.tokens = TokenAccounts(mechanism, self.decoys, sources.token_login)
        self.iterations: Callable[[], int] = partial(sources.scram_iterations, mechanism)
        self.now_ms = sources.now_ms


class _Exchange(Struct, frozen=True):
    """The result of the first round; a ``refusal`` makes every proof fail, and is its reason."""

    account: Account
    by_token: bool
    nonce: str
    signed: str
    refusal: str


class ScramMechanism:
    """One authentication of two tokens."""

    __slots__ = ("_accounts", "_exchange", "_nonce")

    def __init__(self, accounts: Accounts, nonce: str) -> None:
        """Expect the first message; ``nonce`` is the server's part, and must be unique."""
        self._accounts = accounts
        self._nonce = nonce
        self._exchange: _Exchange | None = None

    def step(self, token: bytes) -> Step | Awaitable[Step]:
        """Process the first or the final message."""
        try:
            if self._exchange is not None:
                return self._end(self._exchange, token)
            return self._begin(client_first(token))
        except Malformed as error:
            return Failure(None, str(error))

    def _begin(self, first: ClientFirst) -> Step | Awaitable[Step]:
        # Checked before the lookup: this distinct error text must not reveal that the name exists.
        if first.authorization_id not in ("", first.name):
            return Failure(_OTHER_ID, _OTHER_ID)
        lookup = self._accounts.tokens.account if first.by_token else self._accounts.users
        found = lookup(first.name)
        return self._later(first, found) if isawaitable(found) else self._challenge(first, found)

    async def _later(
        self, first: ClientFirst, found: Awaitable[Account | ScramCredential | None]
    ) -> Step:
        return self._challenge(first, await found)

    def _challenge(self, first: ClientFirst, found: Account | ScramCredential | None) -> Step:
        """Send the challenge for an account, or a decoy's if the login will be refused."""
        account = Account(found, first.name) if isinstance(found, ScramCredential) else found
        # Computed for known names too, so that both take the same time.
        iterations = ITERATIONS_MIN if first.by_token else self._accounts.iterations()
        decoy = self._accounts.decoys.credential(first.name, iterations)
        refusal = self._refusal(first, account)
        if account is None or refusal:
            account = Account(decoy, "")
        nonce = first.nonce + self._nonce
        salt, _, _, iterations = account.credential
        answer = server_first(nonce, salt, iterations)
        signed = f"{first.bare},{answer}"
        self._exchange = _Exchange(account, first.by_token, nonce, signed, refusal)
        return Challenge(answer.encode())

    def _refusal(self, first: ClientFirst, account: Account | None) -> str:
        if account is None:
            if first.by_token:
                return "no such delegation token, or the secret key has changed"
            # A credential below Kafka's minimum is refused as in ScramSaslServer.
            return f"no such user with {self._accounts.mechanism}"
        iterations = account.credential.iterations
        if iterations < ITERATIONS_MIN:
            return (
                f"the stored credential has {iterations} iterations; required: at least"
                f" {ITERATIONS_MIN}"
            )
        return ""

    def _end(self, exchange: _Exchange, token: bytes) -> Step:
        nonce, proof, unproved = client_final(token)
        if nonce != exchange.nonce:
            return Failure(None, "the nonce of the final message does not match")
        account, digest = exchange.account, DIGESTS[self._accounts.mechanism]
        signed = f"{exchange.signed},{unproved}".encode()
        _, stored_key, server_key, _ = account.credential
        signature = hmac.digest(stored_key, signed, digest)
        server_signature = hmac.digest(server_key, signed, digest)
        if len(proof) != len(signature):
            return Failure(None, exchange.refusal or "the proof has the wrong length")
        # RFC 5802: ClientKey = ClientProof XOR ClientSignature.
        client_key = bytes(map(int.__xor__, signature, proof))
        proved = hmac.compare_digest(hashlib.new(digest, client_key).digest(), stored_key)
        # Refused only now, after the same work as for a valid account.
        if exchange.refusal or not proved:
            return Failure(None, exchange.refusal or "the password is wrong")
        lifetime_ms = None
        if account.expiry_ms is not None:
            lifetime_ms = max(0, account.expiry_ms - self._accounts.now_ms())
        return Success(
            account.authorization_id,
            server_final(server_signature),
            lifetime_ms,
            token_authenticated=exchange.by_token,
            token_owner=account.owner,
        )


# --- messages

# Kafka parses half a megabyte, which would cost the loop 0.1 s and more before authentication.
BYTES_MAX: Final = 65_536
# Possessive quantifiers rule out backtracking: no character can match in two ways.
_NAME = rb"(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]++|=2C|=3D)++"
_VALUE = rb"[\x01-\x2B\x2D-\x7F]++"
_PRINTABLE = rb"[\x21-\x2B\x2D-\x7E]++"
_BASE64 = rb"(?:[A-Za-z0-9/+]{4})*+(?:[A-Za-z0-9/+]{3}=|[A-Za-z0-9/+]{2}==)?"
_EXTENSIONS = rb"(?:,[A-Za-z]++=" + _VALUE + rb")*"

_CLIENT_FIRST: Final = re.compile(
    rb"n,(?:a=(?P<authorization_id>" + _NAME + rb"))?,(?:m=" + _VALUE + rb",)?"
    rb"n=(?P<name>" + _NAME + rb"),r=(?P<nonce>" + _PRINTABLE + rb")"
    rb"(?P<extensions>" + _EXTENSIONS + rb")"
)
_CLIENT_FINAL: Final = re.compile(
    rb"c=(?P<channel>" + _BASE64 + rb"),r=(?P<nonce>" + _PRINTABLE + rb")"
    rb"" + _EXTENSIONS + rb",p=(?P<proof>" + _BASE64 + rb")"
)


class Malformed(ValueError):
    """The bytes are not a valid message of SCRAM."""


class ClientFirst(Struct, frozen=True):
    """The client's first message.

    ``authorization_id`` is as received, escaped, and empty if absent. ``name`` is a user's or, with
    ``by_token``, the id of a delegation token. ``bare`` is the part that is signed.
    """

    authorization_id: str
    name: str
    nonce: str
    by_token: bool
    bare: str


def client_first(token: bytes) -> ClientFirst:
    match = _CLIENT_FIRST.fullmatch(token) if len(token) <= BYTES_MAX else None
    if match is None:
        raise Malformed("the first message of the client is malformed")
    escaped, nonce = match["name"].decode(), match["nonce"].decode()
    extensions = _extensions(match["extensions"].decode())
    return ClientFirst(
        authorization_id=(match["authorization_id"] or b"").decode(),
        name=escaped.replace("=2C", ",").replace("=3D", "="),
        nonce=nonce,
        by_token=extensions.get("tokenauth", "").lower() == "true",
        bare=",".join((f"n={escaped}", f"r={nonce}", *map("=".join, extensions.items()))),
    )


def client_final(token: bytes) -> tuple[str, bytes, str]:
    """Return nonce and proof of the final message, and its signed part, without extensions."""
    match = _CLIENT_FINAL.fullmatch(token) if len(token) <= BYTES_MAX else None
    if match is None:
        raise Malformed("the final message of the client is malformed")
    nonce = match["nonce"].decode()
    channel = _base64(b64decode(match["channel"]))
    return nonce, b64decode(match["proof"]), f"c={channel},r={nonce}"


def server_first(nonce: str, salt: bytes, iterations: int) -> str:
    """Return the server's first message; ``nonce`` is the client's followed by the server's."""
    return f"r={nonce},s={_base64(salt)},i={iterations}"


def server_final(signature: bytes) -> bytes:
    return b"v=" + b64encode(signature)


def _extensions(text: str) -> Mapping[str, str]:
    """Return extensions by name; the last value of a duplicate counts.

    Kafka signs several of them in an order that may change when a broker restarts; here it is the
    order of arrival. Kafka's own clients send at most one.
    """
    return {
        name: value for name, _, value in (part.partition("=") for part in text.split(",") if part)
    }


def _base64(octets: bytes) -> str:
    return b64encode(octets).decode()


# --- the mechanism of a listener


def provider(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return SCRAM as configured on a listener."""
    mechanism = settings.name
    handler = handler_of(settings, ScramCredentials, sources.logger)  # type: ignore[type-abstract]
    if handler is not None:
        return ScramHandlerProvider(handler, mechanism, sources)
    return ScramProvider(Accounts(mechanism, sources, partial(sources.scram_credential, mechanism)))


class ScramProvider(Provider):
    """SCRAM with the same accounts for every connection."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def begin(self, context: AuthenticationContext) -> ScramMechanism:
        # 17 random bytes give the 130 bits of a nonce of Kafka's.
        return ScramMechanism(self._accounts, base_36(os.urandom(17)).decode())


class ScramHandlerProvider(HandlerProvider[ScramCredentials]):
    """SCRAM with users from a callback handler, and the server's own delegation tokens.

    An unknown name is told the iterations of the last known one.
    """

    def __init__(
        self, guarded: GuardedHandler[ScramCredentials], mechanism: str, sources: Sources
    ) -> None:
        super().__init__(guarded)
        self._mechanism = mechanism
        self._iterations = ITERATIONS_MIN
        self._accounts = Accounts(mechanism, sources, lambda _name: None)
        self._accounts.iterations = lambda: self._iterations

    def begin(self, context: AuthenticationContext) -> ScramMechanism:
        accounts = copy(self._accounts)
        accounts.users = lambda name: self._credential(name, context)
        return ScramMechanism(accounts, base_36(os.urandom(17)).decode())

    async def _credential(
        self, name: str, context: AuthenticationContext
    ) -> ScramCredential | None:
        ask = self._guarded.handler.credential
        credential: ScramCredential | None = await self._guarded.call_handler(
            lambda: ask(self._mechanism, name, context), (ScramCredential, NoneType), context
        )
        if credential is not None:
            self._iterations = credential.iterations
        return credential
