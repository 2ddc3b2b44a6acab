"""A cell is a number as long as only the host ``*`` occurs."""

from __future__ import annotations

import pytest

from doorkeeper.acl.cells import Cell, mask_for, masks, with_bit, without_bit

HOST = "10.0.0.1"


def cell_of(*entries: tuple[str, int]) -> Cell:
    cell: Cell = 0
    for host, bit in entries:
        cell = with_bit(cell, host, bit)
    return cell


def test_only_the_wildcard_host_is_a_number() -> None:
    """And it holds for every host."""
    cell = cell_of(("*", 1), ("*", 4))

    assert cell == 5
    assert mask_for(cell, ("*", HOST)) == 5
    assert dict(masks(cell)) == {"*": 5}
    assert dict(masks(0)) == {}


def test_a_host_adds_to_the_wildcard() -> None:
    """The mask of one host holds for it alone."""
    cell = cell_of(("*", 1), (HOST, 4))

    assert mask_for(cell, ("*", HOST)) == 5
    assert mask_for(cell, ("*", "10.0.0.2")) == 1
    assert dict(masks(cell)) == {"*": 1, HOST: 4}


@pytest.mark.parametrize(
    ("entries", "gone", "left"),
    [
        ([("*", 1)], ("*", 1), {}),
        ([(HOST, 1)], (HOST, 1), {}),
        ([("*", 1), (HOST, 2)], (HOST, 2), {"*": 1}),
        ([("*", 1), (HOST, 2)], ("*", 1), {HOST: 2}),
        ([(HOST, 1), (HOST, 2)], (HOST, 1), {HOST: 2}),
    ],
)
def test_removing_leaves_nothing_empty(
    entries: list[tuple[str, int]], gone: tuple[str, int], left: dict[str, int]
) -> None:
    """No mask of 0 stays behind, and a cell has one form for one content."""
    cell = without_bit(cell_of(*entries), *gone)

    assert dict(masks(cell)) == left
    assert cell == cell_of(*left.items())
