"""Any text comes back from the database as it was, also with the character that it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.storage.postgres.cells import read, written


@given(st.text(alphabet=st.sampled_from("\0\ufdd00a")))
def test_texts_come_back(text: str) -> None:
    """What is written holds no character 0, and is read as what it was."""
    cell = written(text)

    assert "\0" not in cell
    assert read(cell) == text


@given(st.text(alphabet=st.sampled_from("\0\ufdd00a"), max_size=6), st.text(max_size=6))
def test_texts_stay_different(one: str, other: str) -> None:
    """Two texts are one in the database only if they are one."""
    assert (written(one) == written(other)) == (one == other)


@pytest.mark.parametrize("cell", [None, 7, "", "orders"])
def test_most_cells_go_as_they_are(cell: str | int | None) -> None:
    """A cell without those characters is the same object."""
    assert written(cell) is cell
