"""Plans of changes of ACLs, the ids of new ones, and hints about them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.acls.bulk import load
from doorkeeper.acls.model import (
    ANY_BINDING,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.standard import plan_creation, plan_deletion
from doorkeeper.server.schema.acls import BindingIds, StoredBinding
from doorkeeper.server.schema.change import Change, Edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.state import EMPTY
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic, user, wanted
from testkit.plans import run_twice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.model import AclBindingFilter
    from doorkeeper.server.state.state import State

A, B = allow("alice", READ, topic("a")), allow("bob", READ, topic("a", PREFIXED))
STATE = replace(EMPTY, acls=load([("id-a", A), ("id-b", B)]))


def many(number: int) -> list[AclBinding]:
    return [allow("alice", READ, topic(f"t{place}")) for place in range(number)]


def creation(
    state: State, bindings: Sequence[AclBinding], ids: Sequence[str] | None = None
) -> tuple[StoredBinding, ...]:
    ids = [f"{number:022}" for number in range(len(bindings))] if ids is None else ids
    change, lines = run_twice(partial(plan_creation, bindings, ids), state)
    edit = change.get(ACL, Edit())
    assert (edit.deleted, lines) == ((), [])
    return edit.set


def deletion(
    state: State, filters: Sequence[AclBindingFilter]
) -> tuple[list[Sequence[AclBinding]], tuple[StoredBinding, ...]]:
    change, matches = run_twice(partial(plan_deletion, filters), state)
    edit = change.get(ACL, Edit())
    assert not edit.set
    return list(matches), edit.deleted


def test_only_new_acls_are_added() -> None:
    c = allow("carol", READ, topic("c"))

    added = creation(STATE, [A, c, c], ["new-0", "new-1", "new-2"])

    assert added == (StoredBinding("new-0", c),)


def test_long_creation_is_sliced() -> None:
    plan = plan_creation(many(1_000) * 2, BindingIds()(2_000), STATE)

    assert isinstance(plan, Generator)
    slices = 1
    change: Change = {}
    try:
        while True:
            next(plan)
            slices += 1
    except StopIteration as end:
        change, _ = end.value
    assert [row.binding for row in change[ACL].set] == many(1_000)
    assert len({row.binding_id for row in change[ACL].set}) == 1_000
    assert slices > 8


def test_creations_are_limited_to_10000() -> None:
    most = many(10_000)

    assert len(creation(STATE, [A, B, *most, *most[:5]])) == 10_000
    with pytest.raises(ApiError) as caught:
        creation(STATE, [A, *most, allow("carol", READ, topic("c"))])
    assert caught.value.code is ErrorCode.POLICY_VIOLATION


def test_overlapping_filters_report_both_and_delete_once() -> None:
    matches, deleted = deletion(STATE, [ANY_BINDING, wanted(principal="User:bob")])

    assert matches == [[A, B], [B]]
    assert deleted == (StoredBinding("id-a", A), StoredBinding("id-b", B))


def test_deletions_are_limited_to_10000() -> None:
    full = load((str(place), each) for place, each in enumerate(many(10_000)))
    over = full.with_changes([("over", A)])

    _, deleted = deletion(replace(EMPTY, acls=full), [ANY_BINDING, wanted(principal="User:alice")])

    assert len(deleted) == 10_000
    with pytest.raises(ApiError) as caught:
        deletion(replace(EMPTY, acls=over), [wanted(name="none"), ANY_BINDING])
    assert caught.value.code is ErrorCode.INVALID_REQUEST


def test_empty_request_changes_nothing() -> None:
    assert creation(EMPTY, []) == ()
    assert deletion(EMPTY, []) == ([], ())
    assert deletion(EMPTY, [ANY_BINDING]) == ([[]], ())


# --- ids


def test_ids_have_22_characters_and_are_unique() -> None:
    """URL-safe base64, not beginning with a hyphen, whatever is drawn."""
    new_ids = BindingIds()
    found = {*new_ids(100), *(each for _ in range(100) for each in BindingIds()(1))}

    assert len(found) == 200
    assert {len(each) for each in found} == {22}
    assert all(each.replace("-", "a").replace("_", "a").isalnum() for each in found)
    assert not any(each.startswith("-") for each in found)


def test_id_with_leading_hyphen_is_redrawn() -> None:
    drawn = iter([b"\xfb" * 16, b"\xf8" + bytes(15), b"\x01" * 16])
    new_ids = BindingIds(lambda _: next(drawn))

    assert new_ids(1) == ["AQEBAQEBAQEBAQEBAQEBAg"]


def test_ids_increment_across_bytes() -> None:
    first = int.from_bytes(b"\x12" * 14 + b"\x34\xfe")
    new_ids, last = BindingIds(lambda _: first.to_bytes(16)), BindingIds(lambda _: b"\xff" * 16)

    numbers = range(first + 1, first + 600)
    expected = [urlsafe_b64encode(number.to_bytes(16)).decode()[:22] for number in numbers]
    assert [*new_ids(1), *new_ids(300), *new_ids(298)] == expected
    assert last(1) == ["A" * 22]


# --- hints

CLUSTER = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)


def hints_of(bindings: Sequence[AclBinding]) -> list[str]:
    _, lines = run_twice(partial(plan_creation, bindings, BindingIds()(len(bindings))), EMPTY)
    return list(lines)


ON_GROUP = "the ACL {} WRITE for User:alice on GROUP:LITERAL:g {}; the operations on GROUP are {}"
OF_GROUP = "READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS"


def test_acl_without_effect_is_logged() -> None:
    fitting = [
        allow("a", READ, topic("t")),
        deny("a", AclOperation.ALL, CLUSTER),
        allow("a", AclOperation.IDEMPOTENT_WRITE, CLUSTER),
    ]

    assert hints_of(
        [*fitting, deny("alice", WRITE, group("g")), allow("alice", WRITE, group("g"))]
    ) == [
        ON_GROUP.format("DENY", "has no effect", OF_GROUP),
        ON_GROUP.format("ALLOW", "allows DESCRIBE only", OF_GROUP),
    ]


def test_user_resource_without_type_is_logged() -> None:
    """As the documented --user-principal "owner1" names it: nothing is ever asked about that."""
    tokens = AclOperation.CREATE_TOKENS
    prefixed = ResourcePattern(ResourceType.USER, "own", PatternType.PREFIXED)
    bindings = [
        *(allow("requester", tokens, user(name)) for name in ("owner1", "User:owner1", "*")),
        allow("requester", tokens, prefixed),
    ]

    [hint] = hints_of(bindings)

    assert hint.startswith("the ACL ALLOW CREATE_TOKENS for User:requester on USER:LITERAL:owner1")
    assert hint.endswith("a USER resource is named by its full principal, such as User:owner1")
