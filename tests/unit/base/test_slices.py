"""Work in pieces."""

from __future__ import annotations

import random

import pytest

from doorkeeper.base.slices import SLICE_ITEMS, Slices, joined, parts, run_to_end, sort_in_slices


def counted(pieces: Slices[list[int]]) -> tuple[int, list[int]]:
    """Return how often it stops, and what it comes to."""
    stops = 0
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return stops, end.value
        stops += 1


@pytest.mark.parametrize("size", [0, 1, 1024, 1025, 5000])
def test_what_is_sorted_in_pieces_is_sorted(size: int) -> None:
    """Of any size, with equal ones."""
    items = [random.Random(size).randrange(size) for _ in range(size)]

    assert run_to_end(sort_in_slices(items)) == sorted(items)


def test_sorting_stops_often() -> None:
    """What is merged is merged a little at a time."""
    stops, result = counted(sort_in_slices(range(10_000, 0, -1)))

    assert result == list(range(1, 10_001))
    assert stops > 10_000 / SLICE_ITEMS


def test_parts_are_the_whole() -> None:
    """None is longer than a piece."""
    cut = list(parts(range(3 * SLICE_ITEMS + 1)))

    assert [len(each) for each in cut] == [SLICE_ITEMS] * 3 + [1]
    assert [each for part in cut for each in part] == list(range(3 * SLICE_ITEMS + 1))


def test_parts_are_joined_behind_a_head() -> None:
    """In their order, however many; the list is empty afterwards, as one that is freed."""
    for count in (0, 1, 1024, 1025, 5000):
        parts = [b"%d," % number for number in range(count)]
        whole = b"".join(parts)

        assert joined(b"head", parts) == b"head" + whole
        assert parts == []
