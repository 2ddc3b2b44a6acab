"""Changes: edits and their parts, rows, and who asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.server.schema.change import SERVER, Edit
from doorkeeper.server.state.log import origin_of


@given(st.lists(st.integers()), st.lists(st.integers()), st.integers(1, 7))
def test_parts_are_the_edit_in_order(set_: list[int], deleted: list[int], size: int) -> None:
    """Deleted rows come first; none has more rows than it may; a small edit is its only part."""
    whole = Edit(tuple(set_), tuple(deleted))

    parts = list(whole.parts(size))

    assert sum((part.deleted for part in parts), ()) == whole.deleted
    assert sum((part.set for part in parts), ()) == whole.set
    assert all(len(part.set) + len(part.deleted) <= size for part in parts)
    kinds = [bool(part.deleted) for part in parts]
    assert len(parts) == 1 or kinds == sorted(kinds, reverse=True)
    assert parts == [whole] or len(set_) + len(deleted) > size


def test_default_origin_is_the_server() -> None:
    assert origin_of(None) is SERVER
    assert not SERVER.author.principal.startswith("User:")
