"""What is seen while changes are on their way, delivered and lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.bulk import load
from doorkeeper.acl.model import ANY_BINDING, AclBinding
from doorkeeper.acl.snapshot import EMPTY
from doorkeeper.authorizer.contract import AclCreateResult, AuthorizationResult
from doorkeeper.authorizer.plans import creation_refusals, plan_creation
from doorkeeper.authorizer.timeline import Timeline
from doorkeeper.errors import ErrorCode
from doorkeeper.storage.contract import (
    Change,
    StorageError,
    StoreAway,
    StoredBinding,
    StoredState,
)
from testkit.acl import READ, allow, request_of, to, topic, wanted
from testkit.authorizers import HeldStore, started
from testkit.hand_store import PenStore
from testkit.stores import AUTHOR

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.authorizer.standard import StandardAuthorizer

ADMIN = request_of("admin", api_key=30)
A, B, C = (allow("alice", READ, topic(name)) for name in "abc")


def seen(authorizer: StandardAuthorizer) -> list[AclBinding]:
    """Return what describes and decisions see; they must agree."""
    described = list(authorizer.acls(ANY_BINDING))
    actions = [to(READ, topic(name)) for name in "abc"]
    decided = authorizer.authorize(request_of("alice"), actions)
    allowed = [
        each
        for each, result in zip((A, B, C), decided, strict=True)
        if result is AuthorizationResult.ALLOWED
    ]
    assert allowed == described
    assert authorizer.acl_count() == len(described)
    return described


def done(results: Sequence[Awaitable[object]]) -> list[bool]:
    return [isinstance(each, asyncio.Future) and each.done() for each in results]


async def codes(results: Sequence[Awaitable[AclCreateResult]]) -> list[ErrorCode | None]:
    errors = [(await each).error for each in results]
    return [None if error is None else error.code for error in errors]


async def test_nothing_is_seen_before_it_is_durable_and_then_all() -> None:
    """A request becomes visible as a whole, and its items are answered then."""
    store = HeldStore()
    authorizer = await started(store=store)

    results = authorizer.create_acls(ADMIN, [A, B])
    assert seen(authorizer) == []
    assert done(results) == [False, False]
    store.deliver()

    assert seen(authorizer) == [A, B]
    assert await codes(results) == [None, None]
    assert len(store.changes) == 1


class HastyStore(HeldStore):
    """Delivers a change before the submitter has it back."""

    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        super().submit(plan, on_done)
        self.deliver()


async def test_a_change_may_be_durable_before_its_state_is_made() -> None:
    """It is made when it is delivered, at the latest, and is what everybody sees then."""
    authorizer = await started(store=HastyStore())

    created = authorizer.create_acls(ADMIN, [A, B])
    deleted = authorizer.delete_acls(ADMIN, [wanted(name="a")])

    assert done([*created, *deleted]) == [True, True, True]
    assert seen(authorizer) == [B]


async def test_several_requests_are_on_their_way_in_order() -> None:
    """Each is planned on those before it, and becomes visible in its turn."""
    store = HeldStore()
    authorizer = await started(store=store)
    created = authorizer.create_acls(ADMIN, [A])
    deleted = authorizer.delete_acls(ADMIN, [ANY_BINDING])
    again = authorizer.create_acls(ADMIN, [A, B])

    states = []
    answered = []
    for _ in range(3):
        store.deliver()
        states.append(seen(authorizer))
        answered.append([done(each)[0] for each in (created, deleted, again)])

    assert states == [[A], [], [A, B]]
    assert answered == [[True, False, False], [True, True, False], [True, True, True]]
    assert [each.binding for each in (await deleted[0]).bindings] == [A]
    first, _, last = store.changes
    assert first.bindings_added[0].binding_id != last.bindings_added[0].binding_id


async def test_a_failure_fails_all_that_is_on_its_way() -> None:
    """Every accepted item answers the storage error; a refused one keeps its own."""
    store = HeldStore()
    authorizer = await started(store=store)
    bad = AclBinding(C.pattern, C.entry._replace(principal="alice"))
    first = authorizer.create_acls(ADMIN, [A, bad, B])
    second = authorizer.delete_acls(ADMIN, [ANY_BINDING])
    third = authorizer.create_acls(ADMIN, [A])

    store.fail()

    storage, invalid = ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.INVALID_REQUEST
    assert await codes(first) == [storage, invalid, storage]
    refusal = (await second[0]).error
    assert refusal is not None
    assert refusal.code is storage
    assert refusal.message == (
        "The ACLs are as they were: the server could not store the change. Its log says why."
    )
    assert (await second[0]).bindings == ()
    assert await codes(third) == [storage]
    assert seen(authorizer) == []


async def test_after_a_failure_plans_start_from_what_is_durable() -> None:
    """What was lost can be created again, with a change of its own."""
    store = HeldStore()
    authorizer = await started(store=store)
    authorizer.create_acls(ADMIN, [A])
    store.deliver()
    authorizer.delete_acls(ADMIN, [ANY_BINDING])
    authorizer.create_acls(ADMIN, [B])
    store.fail()

    results = authorizer.create_acls(ADMIN, [A, B])
    assert [each.binding for each in store.changes[-1].bindings_added] == [B]
    store.deliver()

    assert await codes(results) == [None, None]
    assert seen(authorizer) == [A, B]
    assert set(store.durable) == {A, B}


async def test_a_change_between_a_failure_and_its_echo_stands() -> None:
    """A store fails each doomed change by itself; that does not touch what came after."""
    store = HeldStore()
    authorizer = await started(store=store)
    authorizer.create_acls(ADMIN, [A])
    authorizer.create_acls(ADMIN, [B])
    echo = store.fail_first()
    results = authorizer.create_acls(ADMIN, [C])

    echo()
    store.deliver()

    assert await codes(results) == [None]
    assert seen(authorizer) == [C]


async def test_a_duplicate_of_a_pending_create_waits_for_it() -> None:
    """It sends a change without content, completes after the first, and fails with it."""
    store = HeldStore()
    authorizer = await started(store=store)
    first = authorizer.create_acls(ADMIN, [A])
    second = authorizer.create_acls(ADMIN, [A])

    assert [bool(change) for change in store.changes] == [True, False]
    store.deliver()
    assert done([*first, *second]) == [True, False]
    store.deliver()
    assert await codes(second) == [None]

    third = authorizer.delete_acls(ADMIN, [wanted(name="a")])
    fourth = authorizer.delete_acls(ADMIN, [wanted(name="a")])
    store.fail()
    assert [(await each[0]).error is None for each in (third, fourth)] == [False, False]
    assert seen(authorizer) == [A]


async def test_what_changes_nothing_is_answered_at_once() -> None:
    """With nothing on its way, the store is not asked."""
    store = HeldStore()
    authorizer = await started(store=store)
    authorizer.create_acls(ADMIN, [A])
    store.deliver()

    results: list[Awaitable[object]] = [
        *authorizer.create_acls(ADMIN, [A, A]),
        *authorizer.delete_acls(ADMIN, [wanted(name="none")]),
        *authorizer.create_acls(ADMIN, []),
    ]

    assert done(results) == [True, True, True]
    assert len(store.changes) == 1


async def test_refused_items_are_answered_at_once() -> None:
    """They wait for nobody, also while the accepted ones of their request are on their way."""
    store = HeldStore()
    authorizer = await started(store=store)
    bad = AclBinding(C.pattern, C.entry._replace(principal="alice"))

    results = authorizer.create_acls(ADMIN, [A, bad])

    assert done(results) == [False, True]
    store.deliver()


async def test_one_who_gave_up_is_not_told() -> None:
    """A cancelled future is left alone; the change stands."""
    store = HeldStore()
    authorizer = await started(store=store)
    results = authorizer.create_acls(ADMIN, [A])
    results[0].cancel()

    store.deliver()

    assert results[0].cancelled()
    assert seen(authorizer) == [A]


async def test_with_a_shared_store_a_plan_sees_what_other_nodes_did() -> None:
    """What another node deleted is created anew; what it created is there already."""
    store = PenStore()
    timeline = Timeline(store, load([("id-a", A)]))
    settled: list[StorageError | None] = []

    timeline.submit(lambda state: creating(state, [A, B, C]), settled.append)
    timeline.follow(Change(author=AUTHOR, bindings_removed=(StoredBinding("id-a", A),)))
    timeline.follow(Change(author=AUTHOR, bindings_added=(StoredBinding("id-b", B),)))
    planned = store.plan()

    assert [each.binding for each in planned.bindings_added] == [A, C]
    assert timeline.visible.count == 1
    store.done(3)
    assert settled == [None]
    assert timeline.visible.count == 3
    assert timeline.visible.id_of(B) == "id-b"


async def test_a_plan_is_made_again_after_a_rewind() -> None:
    """The second counts: the store was away before the first was durable."""
    store = PenStore()
    timeline = Timeline(store, EMPTY)
    settled: list[StorageError | None] = []
    timeline.submit(lambda state: creating(state, [A]), settled.append)
    timeline.submit(lambda state: creating(state, [A, B]), settled.append)

    first = [store.plan(0), store.plan(1)]
    timeline.rewind()
    timeline.follow(Change(author=AUTHOR, bindings_added=(StoredBinding("theirs", A),)))
    second = [store.plan(0), store.plan(1)]

    assert [len(each.bindings_added) for each in first] == [1, 1]
    assert [len(each.bindings_added) for each in second] == [0, 1]
    store.done(1)
    store.done(2)
    assert settled == [None, None]
    assert timeline.visible.id_of(A) == "theirs"
    assert timeline.tail is timeline.visible


async def test_one_that_waits_fails_alone() -> None:
    """Nothing was planned on it, so the next goes on."""
    store = PenStore()
    timeline = Timeline(store, EMPTY)
    settled: list[StorageError | None] = []
    timeline.submit(lambda state: creating(state, [A]), settled.append)
    timeline.submit(lambda state: creating(state, [B]), settled.append)

    store.done(StoreAway("away"))
    store.plan()
    store.done(1)

    assert [type(each) for each in settled] == [StoreAway, type(None)]
    assert A not in timeline.visible
    assert B in timeline.visible


@pytest.mark.parametrize("reloads", [False, True])
async def test_what_others_do_while_the_acls_are_read_is_not_lost(*, reloads: bool) -> None:
    """They are read as they were when the store was opened; the changes since then come on top."""
    timeline = Timeline(PenStore(), None)

    if reloads:
        timeline.follow(Change(author=AUTHOR, bindings_added=(StoredBinding("gone", B),)))
        await timeline.reload(StoredState(revision=5, bindings=(StoredBinding("id-a", A),)))
    timeline.follow(Change(author=AUTHOR, bindings_added=(StoredBinding("id-c", C),)))
    timeline.begin(load([("id-a", A)]))

    assert [each in timeline.visible for each in (A, B, C)] == [True, False, True]
    await timeline.reload(StoredState(revision=9, bindings=(StoredBinding("id-b", B),)))
    assert [each in timeline.visible for each in (A, B, C)] == [False, True, False]


def creating(state: Snapshot, bindings: list[AclBinding]) -> Change:
    ids = (f"new-{number}" for number in range(9))
    plan = plan_creation(state, bindings, creation_refusals(bindings), ids.__next__)
    return Change(author=AUTHOR, bindings_added=plan.added)
