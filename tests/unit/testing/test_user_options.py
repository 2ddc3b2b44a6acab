"""Users as tests give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.testing import DoorkeeperServer
from doorkeeper.testing.user_options import users_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_has_a_line_for_each(tmp_path: Path) -> None:
    """Comments and empty lines are none; a password may hold what is no first ``=``."""
    path = tmp_path / "users"
    path.write_text("# who\n\nalice = a=b # c\nbob=\n", encoding="utf-8")

    assert users_of(path) == users_of(str(path)) == {"alice": "a=b # c", "bob": ""}
    with DoorkeeperServer(users=path) as server:
        assert server.client_config("alice").password == "a=b # c"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("alice=a\nsecret", "users: users line 2: expected is name=password"),
        ("alice=a\nalice=b", "users: users line 2: 'alice' was there before"),
    ],
)
def test_a_line_that_is_wrong_is_told(tmp_path: Path, text: str, told: str) -> None:
    """By its number; what may be a password is not shown."""
    path = tmp_path / "users"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=told) as refused:
        users_of(path)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["alice"], "users: found a list; allowed: passwords by name, or a file"),
        ({"alice": 1234}, "users: 'alice': expected are texts"),
    ],
)
def test_what_are_no_users_is_refused(given: Any, told: str) -> None:
    """The text says what was found and what is allowed, and no password."""
    with pytest.raises(ValueError, match=told) as refused:
        users_of(given)
    assert "1234" not in str(refused.value)
