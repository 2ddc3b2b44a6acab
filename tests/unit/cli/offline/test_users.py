"""Users in the store of a stopped server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.cli.offline.users import offline_users
from doorkeeper.server.state.store import StorageError
from testkit.settings import settings_of
from testkit.stores import query

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.config.settings import Settings

BOTH = {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 8192}


def at(folder: Path) -> Settings:
    return settings_of(f"doorkeeper.data.dir={folder}\n")


def test_what_is_put_is_found_and_deleted(tmp_path: Path) -> None:
    """The log says that the server's own command did it; no password is in the file."""
    with offline_users(at(tmp_path), make_store=True) as users:
        users.put("bob", {"SCRAM-SHA-256": 4096}, "bob-secret")
    with offline_users(at(tmp_path)) as users:
        users.put("alice", BOTH, "alice-secret")
    with offline_users(at(tmp_path)) as users:
        found = {user: dict(has) for user, has in users.iterations().items()}
        users.delete("alice", ["SCRAM-SHA-512"])

    assert found == {"alice": BOTH, "bob": {"SCRAM-SHA-256": 4096}}
    with offline_users(at(tmp_path)) as users:
        assert users.iterations()["alice"] == {"SCRAM-SHA-256": 4096}
    assert query(
        tmp_path, "SELECT DISTINCT author_principal, author_client_id FROM change_log"
    ) == [("Server:doorkeeper", "doorkeeper users")]
    for file in tmp_path.iterdir():
        assert b"-secret" not in file.read_bytes()


def test_a_store_is_made_only_where_it_is_asked_for(tmp_path: Path) -> None:
    """Whoever lists or deletes in a wrong folder is told so, and the folder stays empty."""
    with (
        pytest.raises(StorageError, match="there is no store; the server's first start makes it"),
        offline_users(at(tmp_path)),
    ):
        pytest.fail("it was opened")

    assert list(tmp_path.iterdir()) == []
