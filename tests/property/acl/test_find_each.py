"""Many filters at once, against each of them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acl.bulk import load
from doorkeeper.acl.search import find, find_each
from doorkeeper.runtime.slices import run_to_end
from testkit import acl_worlds as some

if TYPE_CHECKING:
    from doorkeeper.acl.model import AclBinding, AclBindingFilter


@settings(max_examples=500, deadline=None)
@given(some.worlds, st.lists(some.filters, max_size=6))
def test_each_filter_finds_what_it_finds_alone(
    world: list[AclBinding], filters: list[AclBindingFilter]
) -> None:
    """In the same order; and all of it together is every binding that any filter finds."""
    snapshot = load(some.numbered(world))
    alone = [find(snapshot, wanted) for wanted in filters]
    together = sorted({binding for found in alone for binding in found})

    found = run_to_end(find_each(snapshot, filters, len(world)))

    assert found is not None
    assert list(found.of_filters) == alone
    assert found.bindings == together
    if together:
        assert run_to_end(find_each(snapshot, filters, len(together) - 1)) is None
