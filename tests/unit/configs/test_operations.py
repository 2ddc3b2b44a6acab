"""Lists that grow and shrink."""

from __future__ import annotations

import pytest

from doorkeeper.configs.operations import ConfigOperation, edit_list

APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT


@pytest.mark.parametrize(
    ("operation", "current", "elements", "after"),
    [
        (APPEND, "", "a", "a"),
        (APPEND, "a", "b,c", "a,b,c"),
        (APPEND, "a, b", "b", "a,b"),
        (APPEND, "a", "b,", "a,b"),
        (APPEND, "a", ",", "a"),
        (APPEND, "a", "", "a,"),
        (SUBTRACT, "a,b,c", "a,c", "b"),
        (SUBTRACT, "a", "b", "a"),
        (SUBTRACT, "a", "a", ""),
    ],
)
def test_elements_come_once_and_go(
    operation: ConfigOperation, current: str, elements: str, after: str
) -> None:
    """What is there is not added again, what is not there is not missed."""
    assert edit_list(operation, current, elements) == after
