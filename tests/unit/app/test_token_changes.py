"""Delegation tokens while the server runs."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acl.model import Principal
from doorkeeper.app.token_changes import SWEPT_MAX, TOLD_MAX, TokenChanges
from doorkeeper.authn.credentials import TokenLogin
from doorkeeper.delegation_tokens import (
    Expiration,
    NewToken,
    Renewal,
    SignedToken,
    fingerprint_of,
    hmac_of,
)
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.create_delegation_token import API
from doorkeeper.node import ChangeToken
from doorkeeper.storage.contract import Author, Change, StorageError, StoredState, StoredToken
from doorkeeper_wire.messages.create_delegation_token import CreateDelegationTokenResponse
from testkit.delegation_tokens import ALICE, BOB, CAROL, DAVE, NOW, SECRET, context_of
from testkit.edge import Log
from testkit.hand_store import HandStore, PenStore
from testkit.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from doorkeeper.delegation_tokens import Token, TokenWish
    from doorkeeper.storage.contract import Store

TEXT = f"delegation.token.secret.key={SECRET}\n"
CONTEXT = context_of(API, 3, ALICE)

known_fingerprint = cache(fingerprint_of)
"""It is slow on purpose, and a test has a thousand tokens."""


class AskedStore(HandStore):
    """Says when it is asked for the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        super().submit(plan, on_done)
        self.asked.set()


class World:
    """The tokens, their store, their log and their clock."""

    def __init__(self, stored: Iterable[StoredToken] = (), text: str = TEXT) -> None:
        self.now_ms = NOW
        self.store = AskedStore()
        self.log = Log()
        self._drawn = 0
        self.tokens = self.tokens_over(self.store, stored, text)

    def tokens_over(
        self, store: Store, stored: Iterable[StoredToken], text: str = TEXT
    ) -> TokenChanges:
        tokens = TokenChanges(
            stored,
            store,
            asyncio.get_running_loop(),
            now_ms=lambda: self.now_ms,
            random_bytes=self._random,
            logger=self.log,  # type: ignore[arg-type]
        )
        tokens.use(settings_of(text))
        tokens.begin()
        return tokens

    def _random(self, count: int) -> bytes:
        self._drawn += 1
        return self._drawn.to_bytes(count, "big")

    def asked(self, wish: TokenWish) -> asyncio.Future[Any]:
        change = ChangeToken(wish=wish, finish=lambda _: CreateDelegationTokenResponse())
        return self.tokens.change_token(change, CONTEXT)

    def done(self, wish: TokenWish) -> SignedToken:
        """Return the token after a change that the store has taken."""
        answer = self.asked(wish)
        self.store.deliver(1)
        (result,) = answer.result()
        assert isinstance(result, SignedToken)
        return result

    def refused(self, wish: TokenWish) -> ErrorCode:
        (result,) = self.asked(wish).result()
        assert isinstance(result, ApiError)
        return result.code

    def live(self) -> list[Token]:
        return [each.token for each in self.tokens.signed()]


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


_NO_ANSWER = CreateDelegationTokenResponse()

NEW = NewToken(ALICE, BOB, (CAROL,), -1)


async def test_a_token_is_there_when_the_store_has_it() -> None:
    """Not before; the store gets neither HMAC nor secret."""
    world = World()

    answer = world.asked(NEW)
    assert not answer.done()
    assert world.live() == []
    ((change, _),) = world.store.submitted
    world.store.deliver(1)

    (made,) = answer.result()
    assert world.live() == [made.token]
    assert made.hmac == hmac_of(SECRET, made.token.token_id)
    assert change.author.principal == "User:alice"
    (kept,) = change.tokens_set
    assert kept == StoredToken(
        made.token.token_id,
        "User:alice",
        "User:bob",
        ("User:carol",),
        NOW,
        NOW + 86_400_000,
        NOW + 604_800_000,
        fingerprint_of(SECRET),
    )
    assert SECRET not in repr(change)


async def test_a_token_logs_in_as_its_owner_until_it_is_gone() -> None:
    """One that has expired does until it is swept, as on a broker."""
    world = World([stored("id", expiry_ms=NOW - 1)])

    assert world.tokens.login("id") == TokenLogin(ALICE, hmac_of(SECRET, "id"), NOW - 1)
    world.done(Expiration(hmac_of(SECRET, "id"), -1, CAROL))
    assert world.tokens.login("id") is None


async def test_a_renewal_and_an_end_are_found_by_the_hmac() -> None:
    """Both answer the new end; an end now is now, and the token is gone."""
    world = World([stored("id")])
    hmac = hmac_of(SECRET, "id")

    assert world.done(Renewal(hmac, 500, CAROL)).token.expiry_ms == NOW + 500
    assert world.done(Expiration(hmac, 7, ALICE)).token.expiry_ms == NOW + 7
    assert [each.expiry_ms for each in world.live()] == [NOW + 7]
    assert world.done(Expiration(hmac, -1, ALICE)).token.expiry_ms == NOW
    assert world.live() == []
    assert world.refused(Renewal(hmac, 500, CAROL)) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (Renewal(b"other", -1, ALICE), 62),
        (Expiration(b"", -1, ALICE), 62),
        (Renewal(hmac_of(SECRET, "id"), -1, DAVE), 63),
        (Expiration(hmac_of(SECRET, "id"), -1, DAVE), 63),
        (Renewal(hmac_of(SECRET, "old"), -1, ALICE), 66),
        (Expiration(hmac_of(SECRET, "old"), 5, ALICE), 66),
    ],
)
async def test_a_refusal_changes_nothing(wish: TokenWish, code: int) -> None:
    """It is answered at once."""
    world = World([stored("id"), stored("old", expiry_ms=NOW - 1)])

    assert world.refused(wish) == code
    assert world.store.submitted == []


async def test_changes_under_way_are_seen_by_the_next() -> None:
    """Who ends a token that is being ended finds none, and learns it when the first one ended."""
    world = World([stored("id")])
    end = Expiration(hmac_of(SECRET, "id"), -1, ALICE)

    first, second = world.asked(end), world.asked(end)

    assert [each.token_id for each in world.live()] == ["id"]
    world.store.deliver(1)
    assert isinstance(first.result()[0], SignedToken)
    world.store.deliver(1)
    assert second.result()[0].code is ErrorCode.DELEGATION_TOKEN_NOT_FOUND


async def test_what_is_not_stored_did_not_happen() -> None:
    """The caller gets an error, and the next change begins with what is durable."""
    world = World([stored("id")])
    end = Expiration(hmac_of(SECRET, "id"), -1, ALICE)

    answer = world.asked(end)
    world.store.deliver(StorageError("disk full"))

    (result,) = answer.result()
    assert result.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert [line.event for line in world.log.lines] == ["delegation tokens could not be stored"]
    assert world.done(end).token.token_id == "id"


async def test_changes_wait_until_they_may_begin() -> None:
    """While ACLs are read from the store nothing is written to it."""
    store = HandStore()
    tokens = TokenChanges(
        (),
        store,
        asyncio.get_running_loop(),
        now_ms=lambda: NOW,
        random_bytes=bytes,
        logger=Log(),  # type: ignore[arg-type]
    )
    tokens.use(settings_of(TEXT))
    tokens.change_token(ChangeToken(wish=NEW, finish=lambda _: None), CONTEXT)  # type: ignore[arg-type,return-value]
    assert store.submitted == []

    tokens.begin()

    assert len(store.submitted) == 1
    tokens.close()


async def test_without_a_secret_there_are_none() -> None:
    """Those of the store are kept, and told in the log."""
    world = World([stored("id")], text="")

    assert not world.tokens.enabled
    assert world.live() == []
    assert world.tokens.login("id") is None
    assert world.refused(NEW) is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    (line,) = world.log.lines
    assert (line.level, line.fields) == ("warning", {"ids": "id"})
    assert "no delegation.token.secret.key" in line.event


async def test_tokens_of_another_secret_are_nothing_to_anybody() -> None:
    """Their ids are told once; they come back with their secret."""
    world = World([stored("old", secret="second-one"), stored("id")])

    assert [each.token_id for each in world.live()] == ["id"]
    assert world.tokens.login("old") is None
    for secret in (SECRET, "second-one"):
        wish = Renewal(hmac_of(secret, "old"), -1, ALICE)
        assert world.refused(wish) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert [line.fields for line in world.log.lines] == [{"ids": "old"}]
    world.tokens.use(settings_of(TEXT))
    assert len(world.log.lines) == 1
    world.tokens.use(settings_of("delegation.token.secret.key=second-one\n"))
    assert [each.token_id for each in world.live()] == ["old"]
    assert [line.fields for line in world.log.lines][1:] == [{"ids": "id"}]
    assert "second-one" not in str(world.log.lines)


async def test_a_token_made_while_the_secret_changes_belongs_to_the_old_one() -> None:
    """It is answered, and is nothing to anybody until the old secret is back."""
    world = World()
    answer = world.asked(NEW)

    world.tokens.use(settings_of("delegation.token.secret.key=second-one\n"))
    world.store.deliver(1)

    (made,) = answer.result()
    assert world.live() == []
    world.tokens.use(settings_of(TEXT))
    assert world.live() == [made.token]


async def test_new_times_count_at_once() -> None:
    """For tokens that are made or renewed from then on."""
    world = World([stored("id")])
    world.tokens.use(settings_of(TEXT + "delegation.token.expiry.time.ms=5"))

    assert world.done(NEW).token.expiry_ms == NOW + 5
    assert world.done(Renewal(hmac_of(SECRET, "id"), -1, ALICE)).token.expiry_ms == NOW + 5


async def test_what_has_expired_is_swept_away() -> None:
    """Of every secret, in changes of a bounded size, by the server itself."""
    others = [
        stored(f"other-{number}", secret="second-one", expiry_ms=NOW - 1) for number in range(3)
    ]
    ours = [stored(f"ours-{number}", expiry_ms=NOW - 1) for number in range(SWEPT_MAX)]
    world = World([*others, *ours, stored("id"), stored("just", expiry_ms=NOW)])

    world.tokens.sweep()
    world.tokens.sweep()

    changes = [change for change, _ in world.store.submitted]
    assert [len(change.tokens_deleted) for change in changes] == [SWEPT_MAX, 3]
    assert {change.author.principal for change in changes} == {"Server:doorkeeper"}
    world.store.deliver(1)
    world.store.deliver(2)
    assert sorted(each.token_id for each in world.live()) == ["id", "just"]
    told = [line.fields for line in world.log.lines if line.event == "delegation token expired"]
    assert len(told) == SWEPT_MAX + 3
    assert told[0] == {"id": "other-0", "owner": "User:alice"}


async def test_the_sweep_comes_by_itself() -> None:
    """After each interval, and with another interval when that changes."""
    world = World([stored("id", expiry_ms=NOW - 1)])
    world.tokens.use(settings_of(TEXT + "delegation.token.expiry.check.interval.ms=1"))

    await asyncio.wait_for(world.store.asked.wait(), 10)

    world.tokens.close()
    assert world.store.submitted[0][0].tokens_deleted == ("id",)


async def test_many_ids_are_told_in_many_lines() -> None:
    """A line stays readable."""
    world = World([stored(f"id-{number:03}", secret="x") for number in range(TOLD_MAX + 1)])

    assert [str(line.fields["ids"]).count("id-") for line in world.log.lines] == [TOLD_MAX, 1]


async def test_a_strange_owner_is_the_same_before_and_after_a_restart() -> None:
    """A type with a colon is stored as a text, and read as another principal, as by a broker."""
    world = World()

    world.done(NewToken(Principal("a:b", "c"), BOB, (), -1))

    assert world.live()[0].owner == Principal("a", "b:c")


async def test_tokens_of_other_nodes_count_and_end() -> None:
    """One that another node made, renewed or ended does so here; one of another secret does not."""
    world = World([stored("ours")])
    author = Author("User:bob", "h", "l", "c")
    theirs, other = stored("theirs"), stored("other", secret="another")

    world.tokens.follow(Change(author=author, tokens_set=(theirs, other)))
    made = [each.token_id for each in world.live()]
    renewed = stored("theirs", expiry_ms=NOW + 99)
    world.tokens.follow(Change(author=author, tokens_set=(renewed,), tokens_deleted=("ours",)))

    assert made == ["ours", "theirs"]
    assert [(each.token_id, each.expiry_ms) for each in world.live()] == [("theirs", NOW + 99)]
    assert isinstance(world.tokens.login("theirs"), TokenLogin)
    assert world.tokens.login("other") is None


async def test_a_plan_that_is_rewound_is_made_again_on_what_came() -> None:
    """Another node ended the token meanwhile: it is not found."""
    world = World([stored("id")])
    end = Expiration(hmac_of(SECRET, "id"), -1, ALICE)
    store = PenStore()
    tokens = world.tokens_over(store, [stored("id")])
    asked = tokens.change_token(ChangeToken(wish=end, finish=lambda _: _NO_ANSWER), CONTEXT)

    assert store.plan().tokens_deleted == ("id",)
    tokens.rewind()
    tokens.follow(Change(author=Author("", "", "", ""), tokens_deleted=("id",)))

    assert not store.plan()
    store.done(7)
    (result,) = asked.result()
    assert isinstance(result, ApiError)
    assert result.code is ErrorCode.DELEGATION_TOKEN_NOT_FOUND


async def test_a_whole_state_replaces_the_tokens() -> None:
    """What is not in it is gone."""
    world = World([stored("old"), stored("kept")])

    await world.tokens.reload(StoredState(revision=9, tokens=(stored("kept"), stored("new"))))

    assert sorted(each.token_id for each in world.live()) == ["kept", "new"]
