"""Users as tests give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.testing import DoorkeeperServer
from doorkeeper.testing.configuration import users_of

if TYPE_CHECKING:
    from pathlib import Path


def test_user_file_has_one_line_per_user(tmp_path: Path) -> None:
    """Comments and empty lines are none; a password may hold what is no first ``=``."""
    path = tmp_path / "users"
    path.write_text("# who\n\nalice = a=b # c\nbob=x\n", encoding="utf-8")

    assert users_of(path) == users_of(str(path)) == {"alice": "a=b # c", "bob": "x"}
    with DoorkeeperServer(users=path) as server:
        assert server.client_config("alice").password == "a=b # c"


@pytest.mark.parametrize(
    ("users", "error"),
    [
        ("alice=a\nsecret", "users: users line 2: expected name=password"),
        ("alice=a\nalice=secret", "users: users line 2: duplicate user 'alice'"),
        (["alice"], "users: found a list; allowed: passwords by name, or a file"),
        ({"alice": ["secret"]}, "users: 'alice': expected strings"),
        ({"": "secret"}, "users: '': the name is empty"),
        ({"alice": ""}, "users: 'alice': the password is empty"),
        ("=secret", "users: '': the name is empty"),
    ],
)
def test_invalid_users_are_rejected(tmp_path: Path, users: Any, error: str) -> None:
    if isinstance(users, str):
        (tmp_path / "users").write_text(users, encoding="utf-8")
        users = tmp_path / "users"

    with pytest.raises(ValueError, match=error) as refused:
        users_of(users)

    assert "secret" not in str(refused.value)
