"""The state, and how changes lead from one to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.server.resources.cluster import Member
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Edit, edit
from doorkeeper.server.schema.declared import (
    ACL,
    CONFIG,
    KINDS,
    StoredFeature,
)
from doorkeeper.server.schema.features import release_change
from doorkeeper.server.schema.kind import Kind
from doorkeeper.server.state.state import (
    EMPTY,
    ROWS_PER_SLICE,
    State,
    apply,
    apply_at_once,
    check_fields,
)
from testkit.acl import READ, allow, topic
from testkit.nodes import a_group
from testkit.state_logs import keys_of, row
from testkit.stores import any_row

if TYPE_CHECKING:
    from doorkeeper.server.schema.change import Change

A, B = (StoredBinding(name, allow("alice", READ, topic(name))) for name in "ab")
EVERYTHING: Change = {
    **{kind: Edit((any_row(kind, 1, 2),)) for kind in KINDS.values()},
    **edit(ACL, set=[A, B]),
    **edit(CONFIG, set=[row("k")]),
}


def test_change_may_set_rows_of_every_kind() -> None:
    state = apply_at_once(EMPTY, EVERYTHING, 7)

    assert state.revision == 7
    assert state.acls.count == 2
    assert keys_of(state) == ["k"]
    assert [getattr(state, kind.field) for kind in KINDS.values()] != (
        [getattr(EMPTY, kind.field) for kind in KINDS.values()]
    )
    assert len(state.credentials.names()) == len(state.topics.names()) == 1
    assert [row.offset for row in state.offsets] == [2]


@pytest.mark.parametrize("field", ["oddities", "revision"])
def test_each_kind_has_its_table(field: str) -> None:
    """A kind whose field is missing, or is no table, ends the start with a text."""
    kind = Kind(
        "odd",
        field=field,
        subject="odd",
        row=StoredFeature,
        key_columns=1,
        audit_name="name",
    )
    check_fields(KINDS.values(), EMPTY)

    with pytest.raises(
        TypeError,
        match=rf"state/odd\.yaml.* in the field {field}, and State .*state\.py.* no table",
    ):
        check_fields([kind], EMPTY)


def test_release_decides_whether_networks_match() -> None:
    acls = edit(ACL, set=[A])

    def matches(state: State) -> bool:
        return state.acls.matches_networks

    assert not matches(apply_at_once(EMPTY, acls))
    assert not matches(apply_at_once(apply_at_once(EMPTY, acls), release_change("4.3")))
    assert matches(apply_at_once(apply_at_once(EMPTY, acls), release_change("4.4")))
    assert matches(apply_at_once(apply_at_once(EMPTY, release_change("4.4")), acls))
    assert matches(apply_at_once(EMPTY, {**release_change("4.4"), **acls}))
    assert not matches(
        apply_at_once(apply_at_once(EMPTY, release_change("4.4")), release_change("4.3"))
    )


def test_states_are_immutable() -> None:
    before = apply_at_once(EMPTY, EVERYTHING, 1)

    after = apply_at_once(before, edit(CONFIG, deleted=[row("k")]), 2)

    assert keys_of(before) == ["k"]
    assert keys_of(after) == []
    assert after.acls is before.acls
    assert after.topics is before.topics
    assert State() == EMPTY


def test_deletion_reverses_a_change() -> None:
    state = apply_at_once(EMPTY, EVERYTHING, 1)
    gone = {kind: each._replace(set=(), deleted=each.set) for kind, each in EVERYTHING.items()}

    state = apply_at_once(state, gone, 2)

    assert state.acls.count == 0
    assert keys_of(state) == []
    assert state.credentials.names() == []
    assert list(state.tokens) == []
    assert state.topics.names() == ()


def test_deletion_precedes_creation() -> None:
    state = apply_at_once(EMPTY, edit(ACL, set=[A]), 1)

    state = apply_at_once(state, edit(ACL, set=[A._replace(binding_id="new")], deleted=[A]), 2)

    assert state.acls.id_of(A.binding) == "new"


def test_revision_is_kept_without_a_new_one() -> None:
    state = replace(EMPTY, revision=5)

    assert apply_at_once(state, edit(CONFIG, set=[row("k")])).revision == 5
    assert apply_at_once(state, {}, 6).revision == 6


def test_unstored_parts_are_kept() -> None:
    member = Member(1, {}, None, "")
    groups = {"g": a_group("g")}
    state = replace(EMPTY, members=(member,), live_groups=groups)

    after = apply_at_once(state, EVERYTHING, 1)

    assert after.members == (member,)
    assert after.live_groups is groups


@pytest.mark.parametrize("kind", [ACL, CONFIG], ids=str)
def test_large_changes_are_applied_in_slices(kind: object) -> None:
    """One slice for so many rows; the state comes at the end, and is that of a whole change."""
    count = 3 * ROWS_PER_SLICE
    if kind is ACL:
        bindings = [allow("alice", READ, topic(f"t{number}")) for number in range(count)]
        change = edit(ACL, set=[StoredBinding(str(n), each) for n, each in enumerate(bindings)])
    else:
        change = edit(CONFIG, set=[row(f"k{number}") for number in range(count)])
    applying = apply(EMPTY, change, 1)
    assert not isinstance(applying, State)
    slices = sum(1 for _ in applying)
    state = apply_at_once(EMPTY, change, 1)

    assert slices == 3
    assert state.acls.count + len(state.configs) == count
    assert state.revision == 1
