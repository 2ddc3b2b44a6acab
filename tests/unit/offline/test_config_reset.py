"""Forgetting dynamic values while no server runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.kinds.change import edit
from doorkeeper.kinds.declared import CONFIG
from doorkeeper.offline.config_reset import forget
from testkit.settings import settings_of
from testkit.stores import adding, config, fill, numbers_in, open_store, query
from testkit.trails import lines_in

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from doorkeeper.kinds.declared import StoredConfig


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


OF_CLUSTER, OF_NODE = config("super.users", "x"), config("super.users", "x", "1")
OTHER = config("max.connections", "x", "1")
VALUES = edit(CONFIG, set=[OF_CLUSTER, OF_NODE, OTHER])


def forgotten(data_dir: Path, names: Collection[str] | None) -> list[StoredConfig]:
    return forget(settings_of(f"doorkeeper.data.dir={data_dir}\n"), names)


def kept(data_dir: Path) -> list[StoredConfig]:
    store = open_store(data_dir)
    found = list(store.rows(CONFIG))
    store.close()
    return found


def test_a_key_is_forgotten_everywhere(data_dir: Path) -> None:
    """Of the cluster and of each broker; other keys, ACLs and the log stay, and it says who."""
    import asyncio  # noqa: PLC0415  beside the loop that the command runs itself

    asyncio.run(fill(data_dir, adding(1), VALUES))

    assert forgotten(data_dir, ["super.users"]) == [OF_CLUSTER, OF_NODE]

    assert kept(data_dir) == [OTHER]
    assert numbers_in(data_dir) == [1]
    last = query(
        data_dir,
        "SELECT author_principal, author_client_id FROM change_log ORDER BY revision DESC LIMIT 1",
    )
    assert last == [("Server:doorkeeper", "doorkeeper config reset")]
    assert forgotten(data_dir, None) == [OTHER]
    assert forgotten(data_dir, None) == []


def test_what_is_forgotten_is_in_the_trail(tmp_path: Path, data_dir: Path) -> None:
    """As what a client deletes: names and brokers, no values; where nothing goes, no trail is."""
    import asyncio  # noqa: PLC0415  as above

    asyncio.run(fill(data_dir, VALUES))
    audit = tmp_path / "audit"
    settings = settings_of(f"doorkeeper.data.dir={data_dir}\ndoorkeeper.audit.dir={audit}\n")

    assert forget(settings, ["listeners"]) == []
    assert not audit.exists()
    forget(settings, ["super.users"])

    (event,) = lines_in(audit)
    assert (event["subject"], event["revision"], event["api"]) == ("configs", 2, None)
    assert (event["principal"], event["client_id"]) == (
        "Server:doorkeeper",
        "doorkeeper config reset",
    )
    assert event["items"] == [
        {"action": "deleted", "name": "super.users", "detail": ""},
        {"action": "deleted", "name": "super.users", "detail": "1"},
    ]
