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
def test_sliced_sort_is_correct(size: int) -> None:
    items = [random.Random(size).randrange(size) for _ in range(size)]

    assert run_to_end(sort_in_slices(items)) == sorted(items)


def test_sliced_sort_yields_often() -> None:
    stops, result = counted(sort_in_slices(range(10_000, 0, -1)))

    assert result == list(range(1, 10_001))
    assert stops > 10_000 / SLICE_ITEMS


def test_slices_join_to_the_whole() -> None:
    cut = list(parts(range(3 * SLICE_ITEMS + 1)))

    assert [len(each) for each in cut] == [SLICE_ITEMS] * 3 + [1]
    assert [each for part in cut for each in part] == list(range(3 * SLICE_ITEMS + 1))


def test_joining_slices_frees_the_list() -> None:
    for count in (0, 1, 1024, 1025, 5000):
        parts = [b"%d," % number for number in range(count)]
        whole = b"".join(parts)

        assert joined(b"head", parts) == b"head" + whole
        assert parts == []
