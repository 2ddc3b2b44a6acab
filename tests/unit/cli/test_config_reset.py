"""Forgetting dynamic values while no server runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.config import forget
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CONFIG
from testkit.settings import settings_of
from testkit.stores import adding, config, fill, numbers_in, query
from testkit.trails import lines_in

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


OF_CLUSTER, OF_NODE = config("super.users", "x"), config("super.users", "x", "1")
OTHER = config("max.connections", "x", "1")
VALUES = edit(CONFIG, set=[OF_CLUSTER, OF_NODE, OTHER])


def test_reset_applies_to_cluster_and_brokers(tmp_path: Path, data_dir: Path) -> None:
    asyncio.run(fill(data_dir, adding(1), VALUES))
    audit = tmp_path / "audit"
    settings = settings_of(f"doorkeeper.data.dir={data_dir}\ndoorkeeper.audit.dir={audit}\n")

    assert asyncio.run(forget(settings, ["listeners"])) == []
    assert not audit.exists()
    assert asyncio.run(forget(settings, ["super.users"])) == [OF_CLUSTER, OF_NODE]

    assert [row for (row,) in query(data_dir, "SELECT key FROM item WHERE kind = 'config'")] == [
        '["1","max.connections"]'
    ]
    assert numbers_in(data_dir) == [1]
    author = ("Server:doorkeeper", "doorkeeper config reset")
    assert query(
        data_dir,
        "SELECT DISTINCT author_principal, author_client_id FROM change_log WHERE revision = 3",
    ) == [author]
    (event,) = lines_in(audit)
    assert (event["subject"], event["revision"], event["api"]) == ("configs", 3, None)
    assert (event["principal"], event["client_id"]) == author
    assert event["items"] == [
        {"action": "deleted", "name": "super.users", "detail": ""},
        {"action": "deleted", "name": "super.users", "detail": "1"},
    ]
    assert asyncio.run(forget(settings, None)) == [OTHER]
    assert asyncio.run(forget(settings, None)) == []


def test_misspelt_key_is_told(data_dir: Path) -> None:
    asyncio.run(fill(data_dir, adding(1), VALUES))

    reset = ["config", "reset", f"store:{data_dir}", "super.user", "max.connections", "own.key"]
    found = CliRunner().invoke(doorkeeper, reset)

    assert found.stdout == "reset: max.connections of broker 1\n"
    assert found.stderr == (
        "doorkeeper: note: own.key has no dynamic value\n"
        "doorkeeper: note: super.user has no dynamic value; did you mean super.users?\n"
    )
