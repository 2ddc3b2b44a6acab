"""Changes: edits and their parts, rows, and who asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.kinds.change import SERVER, Author, Edit, edit
from doorkeeper.kinds.declared import CONFIG
from doorkeeper.state.log import origin_of
from testkit.acl import request_of


@given(st.lists(st.integers()), st.lists(st.integers()), st.integers(1, 7))
def test_parts_are_the_edit_in_order(set_: list[int], deleted: list[int], size: int) -> None:
    """Together they have its rows, the deleted ones first; none has more rows than it may."""
    whole = Edit(tuple(set_), tuple(deleted))

    parts = list(whole.parts(size))

    assert sum((part.deleted for part in parts), ()) == whole.deleted
    assert sum((part.set for part in parts), ()) == whole.set
    assert all(len(part.set) + len(part.deleted) <= size for part in parts)
    kinds = [bool(part.deleted) for part in parts]
    assert len(parts) == 1 or kinds == sorted(kinds, reverse=True)


def test_a_small_edit_is_one_part() -> None:
    """It is the edit itself, also where it has rows of both sorts, and where it has none."""
    both, none = Edit((1, 2), (3,)), Edit()

    assert next(both.parts(3)) is both
    assert list(none.parts(3)) == [none]


def test_a_change_of_one_kind() -> None:
    """Rows may come from anywhere; without any the change is empty."""
    assert edit(CONFIG, set=iter([1]), deleted=[2]) == {CONFIG: Edit((1,), (2,))}
    assert edit(CONFIG, deleted=[2]) == {CONFIG: Edit((), (2,))}
    assert edit(CONFIG) == {}


def test_the_origin_of_a_request() -> None:
    """The author is what the log keeps of it; subscribers get the request itself."""
    request = request_of("admin", api_key=30)

    origin = origin_of(request)

    assert origin.request is request
    assert origin.author == Author(
        "User:admin",
        request.client_address,
        request.listener_name,
        request.client_id,
        request.client_software,
        request.correlation_id,
    )


def test_without_a_request_the_server_is_the_origin() -> None:
    """No client can have its name: the principals of clients have another type."""
    assert origin_of(None) is SERVER
    assert SERVER.request is None
    assert not SERVER.author.principal.startswith("User:")
