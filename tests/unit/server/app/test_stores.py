"""The store that a configuration names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog

from doorkeeper.server.app.errors import StartError
from doorkeeper.server.app.stores import check_release, identity_file_of, open_store
from doorkeeper.server.schema.declared import FEATURE, StoredFeature
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.store import StorageError, StoreReplaced
from testkit.kafka_broker import free_port
from testkit.settings import settings_of

if TYPE_CHECKING:
    from testkit.postgres import Database


@pytest.mark.parametrize(("line", "level"), [("", 33), ("doorkeeper.kafka.release=4.3\n", 30)])
async def test_new_store_follows_the_configured_release(
    tmp_path: Path, line: str, level: int
) -> None:
    settings = settings_of(f"doorkeeper.data.dir={tmp_path}\n{line}")
    await (await open_store(settings)).aclose()

    store = await open_store(
        settings_of(f"doorkeeper.data.dir={tmp_path}\n", "doorkeeper.kafka.release=4.4")
    )
    rows, revision = list(store.rows(FEATURE)), store.revision
    await store.aclose()

    assert (rows, revision) == ([StoredFeature("metadata.version", level)], 0)


@pytest.mark.parametrize(("expected", "levels"), [("4.4", []), ("4.4", [30]), ("4.3", [33])])
def test_store_of_another_release_is_rejected(expected: str, levels: list[int]) -> None:
    """The text names both releases, and the command; a store without a level follows 4.3."""
    features = [StoredFeature("metadata.version", level) for level in levels]
    other = {"4.3": "4.4", "4.4": "4.3"}[expected]

    with pytest.raises(StartError, match=f"found {expected}, but the store follows Kafka {other}"):
        check_release(settings_of(f"doorkeeper.kafka.release={expected}\n"), features)

    check_release(settings_of(f"doorkeeper.kafka.release={other}\n"), features)
    check_release(settings_of(""), features)


async def test_store_is_not_created_if_disabled(tmp_path: Path) -> None:
    settings = settings_of(f"doorkeeper.data.dir={tmp_path}\ndoorkeeper.store.create=false\n")

    for make_store in (True, False):
        with pytest.raises(StorageError, match="create it with doorkeeper store create"):
            await open_store(settings, make_store=make_store)

    assert list(tmp_path.iterdir()) == []


def test_location_of_the_identity_file() -> None:
    shared = "node.id=7\ndoorkeeper.store=postgresql://u@h/d\n"

    assert identity_file_of(settings_of("")) == Path("data/doorkeeper.identity")
    given = settings_of("doorkeeper.store.identity.file=/x/y\n")
    assert identity_file_of(given) == Path("/x/y")
    assert identity_file_of(settings_of(shared)) == Path("data/doorkeeper.node-7.identity")
    with_folder = settings_of(f"{shared}doorkeeper.data.dir=d\n")
    assert identity_file_of(with_folder) == Path("d/doorkeeper.node-7.identity")


async def test_unreachable_shared_store_is_named(tmp_path: Path) -> None:
    place = f"127.0.0.1:{free_port()}"
    text = f"node.id=1\ndoorkeeper.store=postgresql://me:s3cret@{place}/acls\n"

    with pytest.raises(StorageError) as caught:
        await open_store(settings_of(text))

    assert f"postgresql://{place}/acls: " in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("is_there", [False, True])
async def test_created_store_is_logged(tmp_path: Path, *, is_there: bool) -> None:
    """Also in an empty file, as a failed copy leaves."""
    settings = settings_of(f"doorkeeper.data.dir={tmp_path}\n")
    if is_there:
        (tmp_path / DATABASE_NAME).touch()
    ids = []
    with structlog.testing.capture_logs() as lines:
        for _ in range(2):
            store = await open_store(settings, logger=structlog.get_logger())
            ids.append(store.identity.store_id)
            await store.aclose()

    (line,) = lines
    assert (line["log_level"], line["store_id"]) == ("warning", ids[1])
    assert line["event"].startswith("store created")
    assert str(tmp_path) in line["store"]
    assert "doorkeeper.store.create=false" in line["remedy"]


@pytest.mark.interop
async def test_node_of_a_shared_store_rejects_an_empty_database(
    database: Database, tmp_path: Path
) -> None:
    text = f"node.id=7\ndoorkeeper.data.dir={tmp_path}\ndoorkeeper.store={database.url()}\n"
    for refused in (
        open_store(settings_of(text), make_store=False, is_node=False),
        open_store(settings_of(f"{text}doorkeeper.store.create=false\n")),
    ):
        with pytest.raises(StorageError, match="create it with doorkeeper store create"):
            await refused
    await (await open_store(settings_of(text))).aclose()
    database.execute("DROP SCHEMA doorkeeper CASCADE")

    with pytest.raises(StoreReplaced, match=r"no store is here, but .*node-7\.identity expects"):
        await open_store(settings_of(text))
