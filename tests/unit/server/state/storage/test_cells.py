"""Any text comes back from the database as it was, also with the character that it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.server.state.storage.cells import decode, encode


@given(st.text(alphabet=st.sampled_from("\0\ufdd00a")))
def test_texts_round_trip(text: str) -> None:
    """What is written holds no character 0, and is read as what it was."""
    cell = encode(text)

    assert "\0" not in cell
    assert decode(cell) == text


@given(st.text(alphabet=st.sampled_from("\0\ufdd00a"), max_size=6), st.text(max_size=6))
def test_texts_stay_distinct(one: str, other: str) -> None:
    assert (encode(one) == encode(other)) == (one == other)


@pytest.mark.parametrize("cell", ["", "orders"])
def test_ordinary_cells_are_unchanged(cell: str) -> None:
    assert encode(cell) is cell
