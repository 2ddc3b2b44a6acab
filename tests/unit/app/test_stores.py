"""The store that a configuration names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from doorkeeper.app.stores import identity_file_of, open_store
from doorkeeper.state.store import StorageError
from doorkeeper.storage.sqlite import SqliteStore
from testkit.edge import Log
from testkit.kafka_broker import free_port
from testkit.settings import settings_of

if TYPE_CHECKING:
    from testkit.postgres import Database


async def test_without_a_word_it_is_embedded(tmp_path: Path) -> None:
    """It is made in the data folder."""
    store = await open_store(settings_of(f"doorkeeper.data.dir={tmp_path}\n"))
    await store.aclose()

    assert isinstance(store, SqliteStore)
    assert (tmp_path / "doorkeeper.db").exists()


async def test_it_is_not_made_where_it_should_be_there(tmp_path: Path) -> None:
    """The folder stays as it is."""
    settings = settings_of(f"doorkeeper.data.dir={tmp_path}\n")

    with pytest.raises(StorageError, match="there is no store; the server's first start makes it"):
        await open_store(settings, make_store=False)

    assert list(tmp_path.iterdir()) == []


async def test_the_creation_of_a_store_is_logged(tmp_path: Path) -> None:
    """An operator sees that a start began an empty cluster; another start says nothing."""
    settings, log = settings_of(f"doorkeeper.data.dir={tmp_path}\n"), Log()

    await (await open_store(settings, logger=log)).aclose()
    store = await open_store(settings, logger=log)
    await store.aclose()

    fields = {"file": str(tmp_path / "doorkeeper.db"), "cluster_id": store.identity.cluster_id}
    assert log.lines == [("info", "store created", fields)]


async def test_a_command_logs_no_creation(tmp_path: Path) -> None:
    """Without a logger nothing is said."""
    with capture_logs() as lines:
        await (await open_store(settings_of(f"doorkeeper.data.dir={tmp_path}\n"))).aclose()

    assert lines == []


async def test_it_is_not_created_where_the_configuration_forbids_it(tmp_path: Path) -> None:
    """Only the command creates it."""
    settings = settings_of(f"doorkeeper.data.dir={tmp_path}\ndoorkeeper.store.create=false\n")

    for make_store in (True, False):
        with pytest.raises(StorageError, match="create it with doorkeeper store create"):
            await open_store(settings, make_store=make_store)

    assert list(tmp_path.iterdir()) == []


def test_where_the_identity_is_pinned() -> None:
    """In the data folder, unless a key says otherwise; a shared store needs one that is given."""
    shared = "node.id=7\ndoorkeeper.store=postgresql://u@h/d\n"

    assert identity_file_of(settings_of("")) == Path("data/doorkeeper.identity")
    given = settings_of("doorkeeper.store.identity.file=/x/y\n")
    assert identity_file_of(given) == Path("/x/y")
    assert identity_file_of(settings_of(shared)) is None
    with_folder = settings_of(f"{shared}doorkeeper.data.dir=d\n")
    assert identity_file_of(with_folder) == Path("d/doorkeeper.node-7.identity")


async def test_a_shared_store_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    """By its place, without who logs in there and with what."""
    place = f"127.0.0.1:{free_port()}"
    text = f"node.id=1\ndoorkeeper.store=postgresql://me:s3cret@{place}/acls\n"

    with pytest.raises(StorageError) as caught:
        await open_store(settings_of(text))

    assert f"postgresql://{place}/acls: " in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.interop
async def test_a_shared_store_is_that_of_all_who_name_it(database: Database) -> None:
    """Both have its cluster id and its secret."""
    text = f"doorkeeper.store={database.url()}\n"

    one = await open_store(settings_of(text + "node.id=1\n"))
    two = await open_store(settings_of(text + "node.id=2\n"))

    assert one.identity == two.identity
    await one.aclose()
    await two.aclose()
