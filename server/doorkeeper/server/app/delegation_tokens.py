"""The delegation tokens of a running server: reads, changes, expiry.

A token belongs to the secret under which it was issued; the store has a fingerprint of that secret
beside it. Tokens of another secret are treated as absent: they cannot log in, their HMAC is
unknown and they are not described. They are deleted when they expire, and valid again if their
secret returns.

Source: ``DelegationTokenControlManager``, ``DelegationTokenPublisher`` of Kafka 4.3.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from doorkeeper.acls.model import Principal
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.uuids import random_uuid
from doorkeeper.server.config.keys import (
    DELEGATION_TOKEN_EXPIRY_CHECK_INTERVAL_MS,
    DELEGATION_TOKEN_EXPIRY_TIME_MS,
    DELEGATION_TOKEN_MAX_LIFETIME_MS,
)
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.resources.tokens import (
    Expiration,
    Lifetimes,
    NewToken,
    Renewal,
    SignedToken,
    Token,
    TokenWish,
    fingerprint_of,
    hmac_of,
)
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.change import SERVER, Change, edit
from doorkeeper.server.schema.declared import TOKEN, StoredToken
from doorkeeper.server.schema.kind import Table
from doorkeeper.server.security.provider import TokenLogin
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.outcome import commit
from doorkeeper.server.state.state import State
from doorkeeper.server.state.store import StorageError

SWEPT_MAX: Final = 1000
"""Expired tokens that are deleted in one change, as on a broker."""

LOGGED_MAX: Final = 100
"""Ids in one line of the log."""


class _Index(NamedTuple):
    """What is derived from rows under a secret: ids by HMAC, and the tokens with theirs."""

    rows: Table[StoredToken] | None
    fingerprint: bytes
    ids: dict[bytes, str]
    signed: dict[str, tuple[StoredToken, SignedToken]]


class DelegationTokens:
    """The tokens of the current secret. Not thread-safe."""

    def __init__(
        self,
        log: StateLog,
        *,
        now_ms: Callable[[], int],
        random_bytes: Callable[[int], bytes],
        logger: Logger,
    ) -> None:
        """``use`` sets the secret and ``start`` begins to delete expired tokens."""
        self._state_log = log
        self._now_ms = now_ms
        self._random_bytes = random_bytes
        self._log = logger
        self._secret: str | None = None
        self.fingerprint = b""
        """Identifies the tokens of the current secret; empty without one."""
        self._lifetimes = Lifetimes(0, 0)
        self._interval_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._sweeping: asyncio.Task[None] | None = None
        # Replaced as a whole: the thread of large requests indexes too.
        self._known = _Index(None, b"", {}, {})

    def start(self) -> None:
        """Delete expired tokens after the interval of the settings, and then at each."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._interval_s, self.sweep)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._sweeping is not None:
            self._sweeping.cancel()

    def use(self, settings: Settings) -> None:
        """Set the secret and the lifetimes; log the tokens of another secret."""
        self._lifetimes = Lifetimes(
            settings[DELEGATION_TOKEN_MAX_LIFETIME_MS], settings[DELEGATION_TOKEN_EXPIRY_TIME_MS]
        )
        self._interval_s = settings[DELEGATION_TOKEN_EXPIRY_CHECK_INTERVAL_MS] / 1000
        if self._timer is not None:
            self.start()
        secret = settings.token_secret
        if secret == self._secret:
            return
        self._secret = secret
        self.fingerprint = fingerprint_of(secret) if secret else b""
        self._log_others(sorted(row.token_id for row in self._rows if not self._is_of_secret(row)))

    # --- reads

    @property
    def is_enabled(self) -> bool:
        return bool(self._secret)

    def signed_tokens(self) -> Iterator[SignedToken]:
        """Return all tokens of the current secret, with their HMACs."""
        return (signed for _, signed in self._index(self._rows).signed.values())

    def login(self, token_id: str) -> TokenLogin | None:
        """Return the credentials of a token; an expired one has them until it is deleted."""
        row = self._rows.get(token_id)
        if row is None or not self._is_of_secret(row):
            return None
        return TokenLogin(Principal.parse(row.owner), self._hmac(token_id), row.expiry_ms)

    @property
    def _rows(self) -> Table[StoredToken]:
        return self._state_log.state.tokens

    def _is_of_secret(self, row: StoredToken) -> bool:
        return bool(self._secret) and row.fingerprint == self.fingerprint

    def _hmac(self, token_id: str) -> bytes:
        return hmac_of(self._secret or "", token_id)

    def _index(self, rows: Table[StoredToken]) -> _Index:
        """Derive tokens and HMACs from rows; known rows cost a look-up each."""
        known, fingerprint = self._known, self.fingerprint
        if known.rows is rows and known.fingerprint == fingerprint:
            return known
        # HMACs are reused by token id: an HMAC depends only on the id and the secret.
        before = known.signed if known.fingerprint == fingerprint else {}
        now = {}
        for row in rows:
            if not self._is_of_secret(row):
                continue
            signed = before.get(row.token_id)
            if signed is None or signed[0] is not row:
                hmac = self._hmac(row.token_id) if signed is None else signed[1].hmac
                signed = row, SignedToken(_token_of(row), hmac)
            now[row.token_id] = signed
        ids = {signed.hmac: token_id for token_id, (_, signed) in now.items()}
        self._known = _Index(rows, fingerprint, ids, now)
        return self._known

    # --- changes

    async def change(self, wish: TokenWish, context: RequestContext) -> SignedToken:
        """Issue, renew or expire a token; return it with its HMAC. A deleted one has expired.

        Raises:
            ApiError: nothing is changed.
        """
        if not self._secret:
            raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        # Clock and random numbers are read here: the plan may run more than once.
        now_ms = self._now_ms()
        if not isinstance(wish, NewToken):
            return await commit(self._state_log, partial(self._plan, wish, now_ms), context)
        token = wish.issue(random_uuid(self._random_bytes), now_ms, self._lifetimes)
        signed = SignedToken(token, self._hmac(token.token_id))
        change = edit(TOKEN, set=[_row_of(token, self.fingerprint)])
        await commit(self._state_log, lambda _state: (change, None), context)
        # Its renewal need not look through all tokens for the HMAC.
        self._known.ids[signed.hmac] = token.token_id
        return signed

    def _plan(
        self, wish: Renewal | Expiration, now_ms: int, state: State
    ) -> tuple[Change, SignedToken]:
        row = self._row(wish.hmac, state.tokens)
        before = _token_of(row)
        after: Token | None
        if isinstance(wish, Renewal):
            after = wish.of(before, now_ms, self._lifetimes)
        else:
            after = wish.of(before, now_ms)
        if after is None:
            expired = replace(before, expiry_ms=now_ms)
            return edit(TOKEN, deleted=[row]), SignedToken(expired, wish.hmac)
        change = edit(TOKEN, set=[replace(row, expiry_ms=after.expiry_ms)])
        return change, SignedToken(after, wish.hmac)

    def _row(self, hmac: bytes, rows: Table[StoredToken]) -> StoredToken:
        """Return the row of an HMAC.

        Raises:
            ApiError: 62, the HMAC is unknown.
        """
        token_id = self._known.ids.get(hmac) or self._index(rows).ids.get(hmac, "")
        row = rows.get(token_id)
        if row is None or not self._is_of_secret(row):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return row

    # --- expiry

    def sweep(self) -> None:
        """Delete expired tokens, of every secret, and schedule the next sweep."""
        # A sweep that waits for a slow store is not joined by another one.
        if self._sweeping is None or self._sweeping.done():
            now_ms = self._now_ms()
            expired = [row for row in self._rows if min(row.expiry_ms, row.max_ms) < now_ms]
            if expired:
                expired.sort()
                self._sweeping = asyncio.ensure_future(self._delete(expired))
        self.start()

    async def _delete(self, expired: Sequence[StoredToken]) -> None:
        # In several changes: one of all expired tokens would keep other writers waiting.
        for first in range(0, len(expired), SWEPT_MAX):
            batch = expired[first : first + SWEPT_MAX]
            try:
                committed = await self._state_log.submit(partial(_plan_deletion, batch), SERVER)
            except StorageError as error:
                self._log.error("expired delegation tokens could not be deleted", cause=str(error))
                return
            for row in committed.result:
                self._log.info("delegation token expired", id=row.token_id, owner=row.owner)
        # The deleted ones must not stay here for ever.
        self._known = _Index(None, b"", {}, {})

    def _log_others(self, token_ids: Sequence[str]) -> None:
        event = (
            "delegation tokens created with another secret cannot authenticate, be renewed or be"
            " expired"
        )
        if not self._secret:
            event = "delegation tokens cannot authenticate: delegation.token.secret.key is not set"
        for first in range(0, len(token_ids), LOGGED_MAX):
            ids = ", ".join(token_ids[first : first + LOGGED_MAX])
            # A field with "token" in its name would be hidden; an id is no secret.
            self._log.warning(event, ids=ids)


def _plan_deletion(rows: Sequence[StoredToken], state: State) -> tuple[Change, list[StoredToken]]:
    """Plan to delete the tokens that were not deleted or renewed in the meantime; return them."""
    deleted = [row for row in rows if state.tokens.get(row.token_id) == row]
    return edit(TOKEN, deleted=deleted), deleted


def _row_of(token: Token, fingerprint: bytes) -> StoredToken:
    return StoredToken(
        token_id=token.token_id,
        owner=str(token.owner),
        requester=str(token.requester),
        renewers=tuple(map(str, token.renewers)),
        issue_ms=token.issue_ms,
        expiry_ms=token.expiry_ms,
        max_ms=token.max_ms,
        fingerprint=fingerprint,
    )


def _token_of(row: StoredToken) -> Token:
    return Token(
        row.token_id,
        Principal.parse(row.owner),
        Principal.parse(row.requester),
        tuple(map(Principal.parse, row.renewers)),
        row.issue_ms,
        row.expiry_ms,
        row.max_ms,
    )
