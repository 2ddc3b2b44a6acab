"""The values of a file that decisions depend on, as rows of the store."""

from __future__ import annotations

from doorkeeper.server.app.decision_settings import first_settings, other_settings, settings_of
from doorkeeper.server.config.loading import load
from doorkeeper.server.schema.declared import StoredSetting
from doorkeeper.server.state.state import EMPTY, apply_at_once

LISTENER = "listeners=PLAINTEXT://localhost:0"
USERS, EVERYONE = "super.users", "allow.everyone.if.no.acl.found"


def test_nodes_with_equal_files_share_rows() -> None:
    one = load(None, [LISTENER, "node.id=1", "super.users=User:a"]).settings
    two = load(None, [LISTENER, "node.id=2", "super.users=User:a"]).settings
    other = load(None, [LISTENER, "node.id=2", "super.users=User:b"]).settings
    state = apply_at_once(EMPTY, other_settings(EMPTY.settings, one))
    assert other_settings(EMPTY.settings, one) == first_settings(two)
    assert not other_settings(state.settings, two)

    state = apply_at_once(state, other_settings(state.settings, other))

    assert settings_of(state.settings, "1") == {USERS: "User:a", EVERYONE: "false"}
    assert settings_of(state.settings, "2") == {USERS: "User:b", EVERYONE: "false"}
    assert settings_of(state.settings, None) == {USERS: "User:b", EVERYONE: "false"}
    state = apply_at_once(state, other_settings(state.settings, two))
    assert settings_of(state.settings, "2") == {USERS: "User:a", EVERYONE: "false"}


def test_unknown_settings_are_not_guessed() -> None:
    shared = [StoredSetting("", USERS, "User:a"), StoredSetting("", EVERYONE, "true")]
    nodes = [StoredSetting("1", USERS, "User:b"), StoredSetting("2", USERS, "User:c")]
    assert settings_of([], None) is None
    assert settings_of(shared[:1], "1") is None
    assert settings_of([*shared, *nodes], None) is None
