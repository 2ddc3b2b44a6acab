"""Snapshots after random changes, against a plain dictionary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Policy, Question, explain
from doorkeeper.acls.model import ANY_BINDING, AclBinding, AclBindingFilter
from doorkeeper.acls.search import find, find_each
from doorkeeper.acls.snapshot import EMPTY, Snapshot
from doorkeeper.base.slices import run_to_end
from testkit import acl_worlds as some
from testkit import reference

steps = st.lists(
    st.tuples(st.booleans(), st.lists(some.bindings, min_size=1, max_size=4)), max_size=12
)


def shape(snapshot: Snapshot) -> object:
    """Return all that a snapshot holds, indexes included."""
    return snapshot.count, snapshot.types


@settings(max_examples=100, deadline=None)
@given(some.worlds, steps, some.questions)
def test_changed_snapshot_equals_a_loaded_one(
    world: list[AclBinding],
    changes: list[tuple[bool, list[AclBinding]]],
    question: Question,
) -> None:
    model: dict[AclBinding, str] = {}
    for binding_id, binding in some.numbered(world):
        model.setdefault(binding, binding_id)
    snapshot = load(some.numbered(world))
    for number, (create, touched) in enumerate(changes):
        if create:
            new = [(f"{number:011}{place:011}", each) for place, each in enumerate(touched)]
            snapshot = snapshot.with_changes(new)
            for binding_id, binding in new:
                model.setdefault(binding, binding_id)
        else:
            snapshot = snapshot.without(touched)
            for binding in touched:
                model.pop(binding, None)

        assert snapshot.count == len(model)
        assert find(snapshot, ANY_BINDING) == sorted(model)
        assert {each: snapshot.id_of(each) for each in model} == model

    assert shape(snapshot) == shape(load((binding_id, each) for each, binding_id in model.items()))
    assert explain(Policy(), snapshot, question).binding == (
        reference.decide(Policy(), model, question).binding
    )


@settings(max_examples=40, deadline=None)
@given(some.worlds, some.worlds)
def test_snapshot_is_immutable(before: list[AclBinding], touched: list[AclBinding]) -> None:
    snapshot = load(some.numbered(before))
    held = sorted(set(before))

    snapshot.with_changes(some.numbered(touched)).without(before)
    snapshot.without(touched)

    assert find(snapshot, ANY_BINDING) == held
    assert shape(snapshot) == shape(load(some.numbered(before)))


@settings(max_examples=40, deadline=None)
@given(some.worlds)
def test_deleting_everything_leaves_nothing(world: list[AclBinding]) -> None:
    """No empty group, cell or length stays behind."""
    snapshot = load(some.numbered(world))

    assert shape(snapshot.without(world)) == shape(EMPTY)


@settings(max_examples=200, deadline=None)
@given(some.worlds, st.lists(some.filters, max_size=5))
def test_filters_match_a_linear_scan(
    world: list[AclBinding], filters: list[AclBindingFilter]
) -> None:
    snapshot = load(some.numbered(world))
    expected = [
        sorted({binding for binding in world if reference.matches(each, binding)})
        for each in filters
    ]
    together = sorted({binding for found in expected for binding in found})

    assert [find(snapshot, each) for each in filters] == expected
    found = run_to_end(find_each(snapshot, filters, len(world)))
    assert found is not None
    assert (list(found.of_filters), found.bindings) == (expected, together)
    if together:
        assert run_to_end(find_each(snapshot, filters, len(together) - 1)) is None
