"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802), in Kafka's dialect, for users and delegation tokens.

A login takes two tokens: the client says who it is and gets salt and iterations; it proves that it
knows the password, and gets our proof that we know it too. No password is ever sent or kept.

Whoever the client says it is gets the same first answer: a user that does not exist has a salt too,
an HMAC of the name, and is refused like a wrong password, in the same round, with the same words
and after the same work. A broker refuses such a name in the first round, and so tells who exists.

A client with the extension ``tokenauth=true`` logs in with a delegation token: the name is its
id, the password its HMAC, and the client becomes the token's owner until the token expires. What a
token needs is computed when it first logs in, in a thread, and kept.

Source: ``ScramSaslServer``, ``ScramServerCallbackHandler`` and ``DelegationTokenManager`` of Kafka
4.3.1.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
from base64 import b64encode
from collections import OrderedDict
from inspect import isawaitable
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.authn.contract import Challenge, Failure, Step, Success
from doorkeeper.authn.credentials import (
    DIGESTS,
    ITERATIONS_MIN,
    ScramCredential,
    base_36,
    credential_of,
)
from doorkeeper.authn.scram_messages import (
    ClientFirst,
    Malformed,
    client_final,
    client_first,
    server_final,
    server_first,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from doorkeeper.acl.model import Principal
    from doorkeeper.authn.credentials import TokenLogin
    from doorkeeper.authn.provider import Sources

    Users = Callable[[str], ScramCredential | Awaitable[ScramCredential | None] | None]
    """Gives the credential of a user, at once or later; None for nobody."""

TOKENS_KEPT_MAX: Final = 4096
"""The credentials of so many tokens are kept: half a kilobyte each, 4 ms to compute one again."""

_OTHER_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


class Account(NamedTuple):
    """Whom a name stands for, and what proves it. ``expiry_ms`` and ``owner`` are a token's."""

    credential: ScramCredential
    authorization_id: str
    expiry_ms: int | None = None
    owner: Principal | None = None


class Decoys:
    """Credentials of those who do not exist: always the same for a name, and no proof fits.

    Salts are the digits of a number, as Kafka's own tools make them.
    """

    __slots__ = ("_key", "_keys", "_mechanism")

    def __init__(self, mechanism: str, key: bytes) -> None:
        """Make them under a key that nobody else knows, and that outlives this process."""
        self._mechanism = mechanism
        self._key = key
        size = hashlib.new(DIGESTS[mechanism]).digest_size
        self._keys = (os.urandom(size), os.urandom(size))

    def salt(self, name: str) -> bytes:
        """Return the salt of a name."""
        drawn = hmac.digest(self._key, f"{self._mechanism}\0{name}".encode(), "sha512")
        return base_36(drawn)

    def credential(self, name: str, iterations: int) -> ScramCredential:
        """Return a credential that no password has."""
        stored_key, server_key = self._keys
        return ScramCredential(self.salt(name), stored_key, server_key, iterations)


class Tokens:
    """The accounts of delegation tokens, for one mechanism."""

    __slots__ = ("_decoys", "_kept", "_login", "_mechanism")

    def __init__(
        self, mechanism: str, decoys: Decoys, login: Callable[[str], TokenLogin | None]
    ) -> None:
        """Begin with none computed."""
        self._mechanism = mechanism
        self._decoys = decoys
        self._login = login
        self._kept: OrderedDict[str, tuple[bytes, asyncio.Future[ScramCredential]]] = OrderedDict()

    def account(self, token_id: str) -> Account | Awaitable[Account | None] | None:
        """Return the account of a token that may log in."""
        found = self._login(token_id)
        if found is None:
            self._kept.pop(token_id, None)
            return None
        kept = self._kept.get(token_id)
        if kept is None or not hmac.compare_digest(kept[0], found.hmac):
            return self._computed(token_id, found, self._compute(token_id, found))
        self._kept.move_to_end(token_id)
        if not kept[1].done():
            return self._computed(token_id, found, kept[1])
        return _account_of(found, kept[1].result())

    def _compute(self, token_id: str, found: TokenLogin) -> asyncio.Future[ScramCredential]:
        # Many clients begin with the same token at once: it is computed for all of them.
        computing = asyncio.ensure_future(
            asyncio.to_thread(
                credential_of,
                self._mechanism,
                b64encode(found.hmac).decode(),
                ITERATIONS_MIN,
                self._decoys.salt(token_id),
            )
        )
        self._kept[token_id] = (found.hmac, computing)
        if len(self._kept) > TOKENS_KEPT_MAX:
            self._kept.popitem(last=False)
        return computing

    async def _computed(
        self, token_id: str, found: TokenLogin, computing: asyncio.Future[ScramCredential]
    ) -> Account:
        try:
            # A client that leaves must not take it from the others.
            return _account_of(found, await asyncio.shield(computing))
        except BaseException:
            if computing.done() and self._kept.get(token_id, (b"", None))[1] is computing:
                del self._kept[token_id]
            raise


def _account_of(found: TokenLogin, credential: ScramCredential) -> Account:
    return Account(credential, found.owner.name, found.expiry_ms, found.owner)


class Accounts(NamedTuple):
    """Who may log in with one mechanism of one listener.

    ``iterations`` gives what those who do not exist are said to have; ``now_ms`` is the wall clock.
    """

    mechanism: str
    users: Users
    tokens: Tokens
    decoys: Decoys
    iterations: Callable[[], int]
    now_ms: Callable[[], int]


class _Exchange(NamedTuple):
    """What the first round settled; ``refusal`` says why no proof will do, or is empty."""

    account: Account
    by_token: bool
    nonce: str
    signed: str
    refusal: str


class Scram:
    """One authentication: two tokens."""

    __slots__ = ("_accounts", "_exchange", "_nonce")

    def __init__(self, accounts: Accounts, nonce: str) -> None:
        """Wait for the first token; ``nonce`` is our part, and never used before."""
        self._accounts = accounts
        self._nonce = nonce
        self._exchange: _Exchange | None = None

    def step(self, token: bytes) -> Step | Awaitable[Step]:
        """Take the first or the final message."""
        try:
            if self._exchange is not None:
                return self._end(self._exchange, token)
            return self._begin(client_first(token))
        except Malformed as error:
            return Failure(None, str(error))

    def _begin(self, first: ClientFirst) -> Step | Awaitable[Step]:
        # Looked at before the name is: the text must not tell that somebody has it.
        if first.authorization_id not in ("", first.name):
            return Failure(_OTHER_ID, _OTHER_ID)
        if first.by_token:
            account = self._accounts.tokens.account(first.name)
            return self._later(first, account) if isawaitable(account) else self._go(first, account)
        found = self._accounts.users(first.name)
        if isawaitable(found):
            return self._later_user(first, found)
        return self._go(first, found and Account(found, first.name))

    async def _later(self, first: ClientFirst, account: Awaitable[Account | None]) -> Step:
        return self._go(first, await account)

    async def _later_user(
        self, first: ClientFirst, found: Awaitable[ScramCredential | None]
    ) -> Step:
        credential = await found
        return self._go(first, credential and Account(credential, first.name))

    def _go(self, first: ClientFirst, account: Account | None) -> Step:
        """Answer with what the account has; whoever is refused in the end gets a decoy's."""
        decoy = self._accounts.decoys.credential(first.name, self._decoy_iterations(first))
        refusal = self._refusal(first, account)
        if account is None or refusal:
            account = Account(decoy, "")
        nonce = first.nonce + self._nonce
        salt, _, _, iterations = account.credential
        answer = server_first(nonce, salt, iterations)
        signed = f"{first.bare},{answer}"
        self._exchange = _Exchange(account, first.by_token, nonce, signed, refusal)
        return Challenge(answer.encode())

    def _decoy_iterations(self, first: ClientFirst) -> int:
        return ITERATIONS_MIN if first.by_token else self._accounts.iterations()

    def _refusal(self, first: ClientFirst, account: Account | None) -> str:
        if account is None:
            if first.by_token:
                return "there is no such delegation token, or its secret has changed"
            return f"there is no such user with {self._accounts.mechanism}"
        iterations = account.credential.iterations
        if iterations < ITERATIONS_MIN:
            return f"the stored credential has {iterations} iterations; at least {ITERATIONS_MIN}"
        return ""

    def _end(self, exchange: _Exchange, token: bytes) -> Step:
        final = client_final(token)
        if final.nonce != exchange.nonce:
            return Failure(None, "the final message has another nonce than ours")
        account, digest = exchange.account, DIGESTS[self._accounts.mechanism]
        signed = f"{exchange.signed},{final.unproved}".encode()
        _, stored_key, server_key, _ = account.credential
        signature = hmac.digest(stored_key, signed, digest)
        ours = hmac.digest(server_key, signed, digest)
        if len(final.proof) != len(signature):
            return Failure(None, exchange.refusal or "the proof has another length than a digest")
        client_key = bytes(map(int.__xor__, signature, final.proof))
        proved = hmac.compare_digest(hashlib.new(digest, client_key).digest(), stored_key)
        if exchange.refusal or not proved:
            return Failure(None, exchange.refusal or "the password is wrong")
        lifetime_ms = None
        if account.expiry_ms is not None:
            lifetime_ms = max(0, account.expiry_ms - self._accounts.now_ms())
        return Success(
            account.authorization_id,
            server_final(ours),
            lifetime_ms,
            token_authenticated=exchange.by_token,
            token_owner=account.owner,
        )


def accounts_of(mechanism: str, sources: Sources, users: Users) -> Accounts:
    """Return who may log in: these users, and the delegation tokens."""
    decoys = Decoys(mechanism, sources.salt_key)
    return Accounts(
        mechanism=mechanism,
        users=users,
        tokens=Tokens(mechanism, decoys, sources.token_login),
        decoys=decoys,
        iterations=lambda: sources.scram_iterations(mechanism),
        now_ms=sources.now_ms,
    )
