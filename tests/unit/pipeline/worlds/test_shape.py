"""How large a world is."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.worlds.shape import Shape

NONE = {
    "principals": lambda: Shape(principals=0),
    "topics": lambda: Shape(topics=0),
    "groups": lambda: Shape(groups=0),
    "transactional_ids": lambda: Shape(transactional_ids=0),
    "acls": lambda: Shape(acls=0),
    "questions": lambda: Shape(questions=0),
}


@pytest.mark.parametrize("name", NONE)
def test_a_world_needs_one_of_each(name: str) -> None:
    """Nothing can be drawn from an empty list: the number is named."""
    with pytest.raises(ValueError, match=f"{name} is 0; at least 1 is needed"):
        NONE[name]()


def test_teams_are_never_more_than_what_they_share() -> None:
    """A team has at least one principal and one group; fifty topics make a team."""
    assert Shape().teams == 100
    assert Shape(topics=10).teams == 1
    assert Shape(principals=3).teams == 3
