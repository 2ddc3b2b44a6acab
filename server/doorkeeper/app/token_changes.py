"""Delegation tokens while the server runs: changed in order, durable before visible.

Each change is computed on the newest state, with every change that is under way, and becomes
visible when the store has it, as for ACLs and topics.

Tokens belong to the secret under which they were made; the store keeps a fingerprint of it beside
each. Those of another secret are nothing to anybody: they do not log in, are not found by their
HMAC, and are not told of. They are swept away when they expire, and come back with their secret.

Source: ``DelegationTokenControlManager``, ``DelegationTokenPublisher`` of Kafka 4.3.1.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acl.model import Principal
from doorkeeper.app.not_stored import not_stored
from doorkeeper.app.topic_changes import author_of
from doorkeeper.authn.credentials import TokenLogin
from doorkeeper.authorizer.standard import THE_SERVER
from doorkeeper.delegation_tokens import (
    Expiration,
    Lifetimes,
    NewToken,
    Renewal,
    SignedToken,
    Token,
    fingerprint_of,
    hmac_of,
)
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.storage.cluster_id import random_uuid
from doorkeeper.storage.contract import Change, Participant, StorageError, StoredToken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from doorkeeper.config.settings import Settings
    from doorkeeper.delegation_tokens import TokenWish
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.node import ChangeToken, RequestContext
    from doorkeeper.storage.contract import Author, Store, StoredState

    Results = Sequence[ApiError | SignedToken]

SWEPT_MAX: Final = 1000
"""So many expired tokens go in one change, as on a broker."""

TOLD_MAX: Final = 100
"""So many ids stand in one line of the log."""


class _Plan(NamedTuple):
    """What becomes of a token: None for its end."""

    token_id: str
    token: Token | None


class TokenChanges(Participant):
    """All tokens, and who changes them. For the loop's thread."""

    def __init__(
        self,
        stored: Iterable[StoredToken],
        store: Store,
        loop: asyncio.AbstractEventLoop,
        *,
        now_ms: Callable[[], int],
        random_bytes: Callable[[int], bytes],
        logger: Logger,
    ) -> None:
        """Begin with the tokens of the store, and without a secret: see ``use``."""
        self._stored = {each.token_id: each for each in stored}
        self._store = store
        self._loop = loop
        self._now_ms = now_ms
        self._random_bytes = random_bytes
        self._log = logger
        self._secret: str | None = None
        self._fingerprint = b""
        self._lifetimes = Lifetimes(0, 0)
        self._live: dict[str, Token] = {}
        self._ids: dict[bytes, str] = {}
        self._planned: dict[str, _Plan] = {}
        self._waiting: list[Callable[[], None]] | None = []
        self._interval_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        store.join(self)

    def begin(self) -> None:
        """Let changes go to the store; until then, while ACLs are read from it, they wait."""
        waiting, self._waiting = self._waiting or [], None
        for submit in waiting:
            submit()
        self._sweep_later()

    def close(self) -> None:
        """Sweep no more."""
        if self._timer is not None:
            self._timer.cancel()

    def use(self, settings: Settings) -> None:
        """Take the secret and the times; tell which tokens are of another secret."""
        self._lifetimes = Lifetimes(
            settings.delegation_token_max_lifetime_ms, settings.delegation_token_expiry_time_ms
        )
        self._interval_s = settings.delegation_token_expiry_check_interval_ms / 1000
        if self._timer is not None:
            self._sweep_later()
        secret = settings.delegation_token_secret_key
        if secret == self._secret:
            return
        self._secret = secret
        self._fingerprint = fingerprint_of(secret) if secret else b""
        self._live = {
            each.token_id: _token_of(each)
            for each in self._stored.values()
            if secret and each.fingerprint == self._fingerprint
        }
        self._ids = {self._hmac(token_id): token_id for token_id in self._live}
        self._tell_others([each for each in self._stored if each not in self._live])

    # --- what others ask

    @property
    def enabled(self) -> bool:
        """Say whether there is a secret."""
        return bool(self._secret)

    @property
    def fingerprint(self) -> bytes:
        """Return what tells the tokens of the present secret from others; empty without one."""
        return self._fingerprint

    def signed(self) -> Iterator[SignedToken]:
        """Return all tokens of the present secret, with their HMACs."""
        return (SignedToken(each, self._hmac(each.token_id)) for each in self._live.values())

    def login(self, token_id: str) -> TokenLogin | None:
        """Return what a token needs to log in; one that has expired has it until it is swept."""
        token = self._live.get(token_id)
        if token is None:
            return None
        return TokenLogin(token.owner, self._hmac(token_id), token.expiry_ms)

    # --- changes

    def change_token(self, change: ChangeToken, context: RequestContext) -> asyncio.Future[Results]:
        """Make, renew or end a token; there is one result."""
        results: Results = []

        def plan() -> list[_Plan]:
            nonlocal results
            try:
                planned, shown = self._plan(change.wish, self._now_ms())
            except ApiError as error:
                results = [error]
                return []
            results = [SignedToken(shown, self._hmac(planned.token_id))]
            return [planned]

        return self._submitted(plan, author_of(context), lambda: results)

    def _plan(self, wish: TokenWish, now_ms: int) -> tuple[_Plan, Token]:
        """Return what becomes of which token, and the token as it is answered.

        Raises:
            ApiError: nothing does.

        """
        if not self._secret:
            raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        if isinstance(wish, NewToken):
            made = wish.made(random_uuid(self._random_bytes), now_ms, self._lifetimes)
            return _Plan(made.token_id, made), made
        before = self._found(wish.hmac)
        if isinstance(wish, Renewal):
            after: Token | None = wish.of(before, now_ms, self._lifetimes)
        else:
            assert isinstance(wish, Expiration)
            after = wish.of(before, now_ms)
        return _Plan(before.token_id, after), after or before._replace(expiry_ms=now_ms)

    def _found(self, hmac: bytes) -> Token:
        """Return the token of an HMAC, with the changes that are under way.

        Raises:
            ApiError: 62, there is none.

        """
        token_id = self._ids.get(hmac)
        if token_id is not None:
            plan = self._planned.get(token_id)
            token = self._live.get(token_id) if plan is None else plan.token
            if token is not None:
                return token
        raise ApiError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)

    def _submitted(
        self, plan: Callable[[], list[_Plan]], author: Author, done: Callable[[], Results]
    ) -> asyncio.Future[Results]:
        """Write what is planned; ``done`` gives the results of the last plan."""
        answered: asyncio.Future[Results] = self._loop.create_future()
        plans: list[_Plan] = []
        set_: dict[str, StoredToken] = {}

        def planned() -> Change:
            nonlocal plans, set_
            plans = plan()
            for each in plans:
                self._planned[each.token_id] = each
            set_ = {p.token_id: self._stored_of(p.token) for p in plans if p.token is not None}
            return Change(
                author=author,
                tokens_set=tuple(set_.values()),
                tokens_deleted=tuple(each.token_id for each in plans if each.token is None),
            )

        def on_done(outcome: int | StorageError) -> None:
            if isinstance(outcome, StorageError):
                self._planned.clear()
                self._log.error("delegation tokens could not be stored", cause=str(outcome))
                results: Results = [not_stored(outcome)]
            else:
                for each in plans:
                    self._applied(each, set_.get(each.token_id))
                results = done()
            if not answered.done():
                answered.set_result(results)

        if self._waiting is None:
            self._store.submit(planned, on_done)
        else:
            self._waiting.append(lambda: self._store.submit(planned, on_done))
        return answered

    # --- what other nodes do

    def rewind(self) -> None:
        """Forget what was planned and is not durable."""
        self._planned.clear()

    def follow(self, change: Change) -> None:
        """Let a change of another node count; it may be of another secret."""
        for token_id in change.tokens_deleted:
            self._forgotten(token_id)
        for stored in change.tokens_set:
            self._noted(stored)

    async def reload(self, state: StoredState) -> None:
        """Let a whole state count."""
        kept = {each.token_id for each in state.tokens}
        for token_id in [each for each in self._stored if each not in kept]:
            self._forgotten(token_id)
        for stored in state.tokens:
            self._noted(stored)

    def _applied(self, plan: _Plan, stored: StoredToken | None) -> None:
        """Make a change visible. The secret may be another one than when it began."""
        if self._planned.get(plan.token_id) is plan:
            del self._planned[plan.token_id]
        if plan.token is None or stored is None:
            self._forgotten(plan.token_id)
        else:
            self._noted(stored)

    def _forgotten(self, token_id: str) -> None:
        self._stored.pop(token_id, None)
        if self._live.pop(token_id, None) is not None:
            self._ids.pop(self._hmac(token_id), None)

    def _noted(self, stored: StoredToken) -> None:
        self._stored[stored.token_id] = stored
        if self._secret and stored.fingerprint == self._fingerprint:
            # As it is read at the next start: a type with a colon would be another one then.
            self._live[stored.token_id] = _token_of(stored)
            self._ids[self._hmac(stored.token_id)] = stored.token_id

    # --- what has expired

    def _sweep_later(self) -> None:
        self.close()
        self._timer = self._loop.call_later(self._interval_s, self.sweep)

    def sweep(self) -> None:
        """Delete the tokens that have expired, of every secret; come back after the interval."""
        now_ms = self._now_ms()
        expired = [
            each
            for each in self._stored.values()
            if min(each.expiry_ms, each.max_ms) < now_ms and each.token_id not in self._planned
        ]
        for first in range(0, len(expired), SWEPT_MAX):
            some = expired[first : first + SWEPT_MAX]
            for token in some:
                self._log.info("delegation token expired", id=token.token_id, owner=token.owner)
            self._submitted(partial(self._ends, some), THE_SERVER, list)
        self._sweep_later()

    def _ends(self, expired: Sequence[StoredToken]) -> list[_Plan]:
        """Plan the end of tokens; another node may have swept or renewed some in the meantime."""
        return [
            _Plan(each.token_id, None)
            for each in expired
            if self._stored.get(each.token_id) is each and each.token_id not in self._planned
        ]

    def _tell_others(self, token_ids: Sequence[str]) -> None:
        event = "delegation tokens of another secret do not log in and cannot be renewed or expired"
        if not self._secret:
            event = "delegation tokens do not log in: there is no delegation.token.secret.key"
        for first in range(0, len(token_ids), TOLD_MAX):
            told = ", ".join(token_ids[first : first + TOLD_MAX])
            # A field with "token" in its name would be hidden; an id is no secret.
            self._log.warning(event, ids=told)

    def _hmac(self, token_id: str) -> bytes:
        return hmac_of(self._secret or "", token_id)

    def _stored_of(self, token: Token) -> StoredToken:
        return StoredToken(
            token_id=token.token_id,
            owner=str(token.owner),
            requester=str(token.requester),
            renewers=tuple(map(str, token.renewers)),
            issue_ms=token.issue_ms,
            expiry_ms=token.expiry_ms,
            max_ms=token.max_ms,
            fingerprint=self._fingerprint,
        )


def _token_of(stored: StoredToken) -> Token:
    return Token(
        stored.token_id,
        Principal.parse(stored.owner),
        Principal.parse(stored.requester),
        tuple(map(Principal.parse, stored.renewers)),
        stored.issue_ms,
        stored.expiry_ms,
        stored.max_ms,
    )
