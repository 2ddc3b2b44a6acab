"""The keys of the store and of nodes that share one."""

from __future__ import annotations

from doorkeeper.config.store_keys import STORE
from testkit.settings import settings_of


def test_defaults_are_what_a_node_alone_needs() -> None:
    """By default the store is embedded; the times are a broker's."""
    settings = settings_of("")

    assert str(settings.data_dir) == "data"
    assert settings.store is None
    assert settings.broker_heartbeat_interval_ms == 2000
    assert settings.broker_session_timeout_ms == 9000


def test_nothing_of_it_changes_while_a_server_runs() -> None:
    """A store is opened once: each of these keys counts after a restart."""
    assert {key.applies.value for key in STORE} == {"after a restart"}
