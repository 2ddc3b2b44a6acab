"""The store that a configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.app.stores import opened_store
from doorkeeper.storage.contract import StorageError
from doorkeeper.storage.embedded import EmbeddedStore
from testkit.kafka_broker import free_port
from testkit.settings import settings_of

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.postgres import Database


async def test_without_a_word_it_is_embedded(tmp_path: Path) -> None:
    """It is made in the data folder."""
    store = await opened_store(settings_of(f"doorkeeper.data.dir={tmp_path}\n"))
    await store.aclose()

    assert isinstance(store, EmbeddedStore)
    assert (tmp_path / "doorkeeper.db").exists()


async def test_it_is_not_made_where_it_should_be_there(tmp_path: Path) -> None:
    """The folder stays as it is."""
    settings = settings_of(f"doorkeeper.data.dir={tmp_path}\n")

    with pytest.raises(StorageError, match="there is no store; the server's first start makes it"):
        await opened_store(settings, make_store=False)

    assert list(tmp_path.iterdir()) == []


async def test_a_shared_store_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    """By its place, without who logs in there and with what."""
    place = f"127.0.0.1:{free_port()}"
    text = f"node.id=1\ndoorkeeper.store=postgresql://me:s3cret@{place}/acls\n"

    with pytest.raises(StorageError) as caught:
        await opened_store(settings_of(text))

    assert f"postgresql://{place}/acls: " in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.interop
async def test_a_shared_store_is_that_of_all_who_name_it(database: Database) -> None:
    """Both have its cluster id and its secret."""
    text = f"doorkeeper.store={database.url()}\n"

    one = await opened_store(settings_of(text + "node.id=1\n"))
    two = await opened_store(settings_of(text + "node.id=2\n"))

    assert (one.cluster_id, one.salt_key) == (two.cluster_id, two.salt_key)
    await one.aclose()
    await two.aclose()
