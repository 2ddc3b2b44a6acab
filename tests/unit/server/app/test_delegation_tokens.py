"""Delegation tokens while the server runs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.create_delegation_token import API
from doorkeeper.server.app import delegation_tokens
from doorkeeper.server.app.delegation_tokens import SWEPT_MAX, DelegationTokens
from doorkeeper.server.resources.tokens import (
    Expiration,
    NewToken,
    Renewal,
    SignedToken,
    fingerprint_of,
    hmac_of,
)
from doorkeeper.server.schema.change import SERVER, edit
from doorkeeper.server.schema.declared import TOKEN, StoredToken
from doorkeeper.server.security.provider import TokenLogin
from doorkeeper.server.state.store import StorageError
from testkit.delegation_tokens import ALICE, BOB, CAROL, DAVE, NOW, SECRET, context_of
from testkit.edge import Log
from testkit.hand_store import HandStore
from testkit.load import scaled
from testkit.memory_logs import memory_log
from testkit.settings import settings_of
from testkit.state_logs import turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from doorkeeper.server.resources.tokens import Token, TokenWish
    from doorkeeper.server.state.log import StateLog

TEXT = f"delegation.token.secret.key={SECRET}\n"
CONTEXT = context_of(API, 3, ALICE)

known_fingerprint = cache(fingerprint_of)
"""It is slow on purpose, and a test has a thousand tokens."""


class World:
    """The tokens, the log of their state, what they log, and their clock."""

    def __init__(self, store: HandStore, state_log: StateLog, text: str) -> None:
        self.now_ms = NOW
        self.store = store
        self.state_log = state_log
        self.log = Log()
        self._drawn = 0
        self.tokens = DelegationTokens(
            state_log,
            now_ms=lambda: self.now_ms,
            random_bytes=self._random,
            logger=self.log,
        )
        self.tokens.use(settings_of(text))

    def _random(self, count: int) -> bytes:
        self._drawn += 1
        return self._drawn.to_bytes(count, "big")

    async def asked(self, wish: TokenWish) -> asyncio.Task[SignedToken]:
        """Ask for a change, which waits for the store where it is one."""
        asked = asyncio.ensure_future(self.tokens.change(wish, CONTEXT))
        await turns()
        return asked

    async def done(self, wish: TokenWish) -> SignedToken:
        """Return the token after a change that the store has taken."""
        asked = await self.asked(wish)
        self.store.deliver()
        return await asked

    async def refused(self, wish: TokenWish) -> ErrorCode:
        with pytest.raises(ApiError) as caught:
            await (await self.asked(wish))
        return caught.value.code

    def live(self) -> list[Token]:
        tokens = (each.token for each in self.tokens.signed_tokens())
        return sorted(tokens, key=lambda token: token.token_id)

    def ids(self) -> list[str]:
        return [each.token_id for each in self.live()]


@asynccontextmanager
async def world(*rows: StoredToken, text: str = TEXT) -> AsyncIterator[World]:
    """Give tokens over a store in the test's hand that begins with these rows."""
    store = HandStore(edit(TOKEN, set=rows))
    async with memory_log(store) as log:
        found = World(store, log, text)
        yield found
        found.tokens.close()


def stored(token_id: str, *, secret: str = SECRET, expiry_ms: int = NOW + 10) -> StoredToken:
    return StoredToken(
        token_id,
        "User:alice",
        "User:bob",
        ("User:carol",),
        NOW - 10,
        expiry_ms,
        NOW + 1000,
        known_fingerprint(secret),
    )


NEW = NewToken(ALICE, BOB, (CAROL,), -1)
ID_HMAC = hmac_of(SECRET, "id")


async def test_token_exists_once_stored() -> None:
    async with world() as here:
        asked = await here.asked(NEW)
        assert not asked.done()
        assert here.live() == []
        ((entries, _),) = here.store.waiting
        here.store.deliver()

        made = await asked
        assert here.live() == [made.token]
        assert made.hmac == hmac_of(SECRET, made.token.token_id)
    (entry,) = entries
    assert entry.author.principal == "User:alice"
    assert entry.change[TOKEN].set == (
        StoredToken(
            made.token.token_id,
            "User:alice",
            "User:bob",
            ("User:carol",),
            NOW,
            NOW + 86_400_000,
            NOW + 604_800_000,
            fingerprint_of(SECRET),
        ),
    )
    assert SECRET not in repr(entry)


async def test_token_authenticates_until_deleted() -> None:
    async with world(stored("id", expiry_ms=NOW - 1)) as here:
        login = TokenLogin(ALICE, ID_HMAC, NOW - 1)
        assert here.tokens.login("id") == login
        ending = await here.asked(Expiration(ID_HMAC, -1, CAROL))
        here.store.deliver(StorageError("disk full"))
        with pytest.raises(ApiError, match="could not be stored"):
            await ending
        assert here.tokens.login("id") == login
        await here.done(Expiration(ID_HMAC, -1, CAROL))
        assert here.tokens.login("id") is None


async def test_tokens_are_found_by_hmac() -> None:
    async with world(stored("id")) as here:
        new = await here.done(NEW)
        for hmac in (ID_HMAC, new.hmac):
            assert (await here.done(Renewal(hmac, 500, CAROL))).token.expiry_ms == NOW + 500
            assert (await here.done(Expiration(hmac, 7, ALICE))).token.expiry_ms == NOW + 7
            assert NOW + 7 in [each.expiry_ms for each in here.live()]
            assert (await here.done(Expiration(hmac, -1, ALICE))).token.expiry_ms == NOW
            assert await here.refused(Renewal(hmac, 500, CAROL)) == 62
        assert here.live() == []


async def test_rejection_changes_nothing() -> None:
    old_hmac = hmac_of(SECRET, "old")
    codes: dict[TokenWish, int] = {
        Renewal(b"other", -1, ALICE): 62,
        Expiration(b"", -1, ALICE): 62,
        Renewal(ID_HMAC, -1, DAVE): 63,
        Expiration(ID_HMAC, -1, DAVE): 63,
        Renewal(old_hmac, -1, ALICE): 66,
        Expiration(old_hmac, 5, ALICE): 66,
    }
    async with world(stored("id"), stored("old", expiry_ms=NOW - 1)) as here:
        assert {wish: await here.refused(wish) for wish in codes} == codes
        assert here.store.waiting == []


async def test_tokens_are_disabled_without_a_secret() -> None:
    async with world(stored("id"), text="") as here:
        assert not here.tokens.is_enabled
        assert here.live() == []
        assert here.tokens.login("id") is None
        assert await here.refused(NEW) is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        (line,) = here.log.lines
        assert (line.level, line.fields) == ("warning", {"ids": "id"})
        assert "delegation.token.secret.key is not set" in line.event


async def test_tokens_of_another_secret_are_ignored() -> None:
    async with world(stored("old", secret="second-one"), stored("id")) as here:
        assert here.ids() == ["id"]
        assert here.tokens.login("old") is None
        for secret in (SECRET, "second-one"):
            wish = Renewal(hmac_of(secret, "old"), -1, ALICE)
            assert await here.refused(wish) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        assert [line.fields for line in here.log.lines] == [{"ids": "old"}]
        here.tokens.use(settings_of(TEXT))
        assert len(here.log.lines) == 1
        here.tokens.use(settings_of("delegation.token.secret.key=second-one\n"))
        assert here.ids() == ["old"]
        assert [line.fields for line in here.log.lines][1:] == [{"ids": "id"}]
        assert "second-one" not in str(here.log.lines)


async def test_tokens_are_those_of_the_secret_whoever_indexes_them_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread of large requests may be at work when the secret changes."""
    async with world(stored("old"), stored("id", secret="second-one")) as here:

        def late(secret: str, token_id: str) -> bytes:
            monkeypatch.undo()
            here.tokens.use(settings_of("delegation.token.secret.key=second-one\n"))
            assert here.ids() == ["id"]
            return hmac_of(secret, token_id)

        monkeypatch.setattr(delegation_tokens, "hmac_of", late)
        here.ids()

        assert here.ids() == ["id"]


async def test_changed_lifetimes_apply_immediately() -> None:
    async with world(stored("id")) as here:
        here.tokens.use(settings_of(TEXT + "delegation.token.expiry.time.ms=5"))

        assert (await here.done(NEW)).token.expiry_ms == NOW + 5
        assert (await here.done(Renewal(ID_HMAC, -1, ALICE))).token.expiry_ms == NOW + 5


async def test_expired_tokens_are_deleted() -> None:
    others = [
        stored(f"other-{number}", secret="second-one", expiry_ms=NOW - 1) for number in range(3)
    ]
    ours = [stored(f"ours-{number}", expiry_ms=NOW - 1) for number in range(SWEPT_MAX)]
    rows = (*others, *ours, stored("id"), stored("just", expiry_ms=NOW))
    async with world(*rows) as here:
        here.tokens.sweep()
        here.tokens.sweep()
        for _ in range(2):
            await turns()
            here.store.deliver()
        await turns()

        deleted = [entry.change[TOKEN].deleted for entry in here.store.entries]
        assert [len(each) for each in deleted] == [SWEPT_MAX, 3]
        assert {entry.author for entry in here.store.entries} == {SERVER.author}
        assert here.ids() == ["id", "just"]
        logged = [line.fields for line in here.log.lines if line.event.endswith("token expired")]
        assert len(logged) == SWEPT_MAX + 3
        assert logged[0] == {"id": "other-0", "owner": "User:alice"}


async def test_failed_deletion_is_logged() -> None:
    async with world(stored("id", expiry_ms=NOW - 1)) as here:
        here.tokens.sweep()
        await turns()
        here.store.deliver(StorageError("disk full"))
        await turns()

        events = [line.event for line in here.log.lines]
        assert events == ["expired delegation tokens could not be deleted"]
        assert here.ids() == ["id"]


async def test_renewed_token_is_not_deleted() -> None:
    async with world(stored("id", expiry_ms=NOW - 1)) as here:
        renewed = stored("id", expiry_ms=NOW + 99)
        renewing = here.state_log.submit(lambda _state: (edit(TOKEN, set=[renewed]), None), SERVER)
        here.tokens.sweep()
        await turns()
        here.store.deliver()
        await renewing
        await turns()

        assert here.store.waiting == []
        assert [each.expiry_ms for each in here.live()] == [NOW + 99]


async def test_expired_tokens_are_deleted_periodically() -> None:
    async with world(stored("id", expiry_ms=NOW - 1)) as here:
        deleted = asyncio.Event()
        here.state_log.subscribe(lambda _committed: deleted.set())
        here.tokens.start()
        here.tokens.use(settings_of(TEXT + "delegation.token.expiry.check.interval.ms=1"))
        while not here.store.waiting:
            await asyncio.sleep(0)
        here.store.deliver()

        await asyncio.wait_for(deleted.wait(), scaled(10))

        assert here.ids() == []


async def test_tokens_follow_the_state() -> None:
    async with world(stored("ours"), stored("gone")) as here:
        assert here.ids() == ["gone", "ours"]
        renewed = stored("ours", expiry_ms=NOW + 99)
        rows = [renewed, stored("theirs"), stored("other", secret="another")]
        changing = here.state_log.submit(
            lambda _state: (edit(TOKEN, set=rows, deleted=[stored("gone")]), None), SERVER
        )
        await turns()
        here.store.deliver()
        await changing

        assert [(each.token_id, each.expiry_ms) for each in here.live()] == [
            ("ours", NOW + 99),
            ("theirs", NOW + 10),
        ]
        assert isinstance(here.tokens.login("theirs"), TokenLogin)
        assert here.tokens.login("other") is None
        theirs = hmac_of(SECRET, "theirs")
        assert (await here.done(Renewal(theirs, 5, ALICE))).token.expiry_ms == NOW + 5
