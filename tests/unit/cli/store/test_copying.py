"""Checking and copying stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.cli.store.moves import accept, check, copy, create
from doorkeeper.cli.stores import settings_at
from doorkeeper.server.app.stores import location_of
from doorkeeper.server.state.storage.portable import COLUMNS, LOG, ONLY_SHARED
from doorkeeper.server.state.store import StorageError
from testkit.portables import CHANGES, fill_fully
from testkit.postgres import OWNER
from testkit.stores import NOW_MS, adding, data_folder, fill, numbers_in, query, removing

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.app.stores import StoreLocation
    from doorkeeper.server.state.storage.portable import Header
    from testkit.postgres import Database, Postgres


async def copied(
    source: StoreLocation, target: StoreLocation, *, overwrite: bool = False
) -> Header:
    header, _ = await copy(
        source, target, overwrite=overwrite, now_ms=NOW_MS, progress=lambda _: None
    )
    return header


async def test_embedded_store_is_copied_and_checked(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    await fill_fully(source)

    header = await copied(data_folder(source), data_folder(target))

    for location in (data_folder(source), data_folder(target)):
        found, findings = await check(location)
        assert (replace(found, store_id=header.store_id), findings) == (header, [])
    assert numbers_in(target) == numbers_in(source)


async def test_copy_onto_itself_is_rejected(tmp_path: Path) -> None:
    await fill_fully(tmp_path / "data")
    urls = [
        location_of(settings_at(parse_address(f"postgresql://{user}@h/d"))) for user in ("a", "b")
    ]

    with pytest.raises(StorageError, match="source and target are the same store"):
        await copied(
            data_folder(tmp_path / "data"),
            data_folder(tmp_path / "x" / ".." / "data"),
            overwrite=True,
        )
    with pytest.raises(StorageError, match="source and target are the same store"):
        await copied(*urls, overwrite=True)


@pytest.mark.interop
async def test_database_with_other_encoding_is_rejected(postgres_server: Postgres) -> None:
    postgres_server.execute(
        f"CREATE DATABASE latin OWNER {OWNER} TEMPLATE template0 ENCODING 'LATIN1'"
        " LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    url = postgres_server.url("latin")

    with pytest.raises(StorageError, match=r"/latin: .* encoding LATIN1; the database must use"):
        await create(settings_at(parse_address(url)), new=False, now_ms=lambda: NOW_MS)

    assert postgres_server.execute("SELECT to_regnamespace('doorkeeper') IS NULL", "latin") == "t"
    postgres_server.execute("DROP DATABASE latin WITH (FORCE)")


@pytest.mark.interop
@pytest.mark.parametrize("new", [False, True])
async def test_store_is_created_in_an_empty_database_only(database: Database, *, new: bool) -> None:
    settings = settings_at(parse_address(database.url()))

    await create(settings, new=new, now_ms=lambda: NOW_MS)
    created, findings = await check(location_of(settings))
    with pytest.raises(StorageError, match="the database has a store; expected: an empty database"):
        await create(settings, new=new, now_ms=lambda: NOW_MS)

    assert (created.revision, findings) == (0, [])
    assert (await check(location_of(settings)))[0].store_id == created.store_id


@pytest.mark.interop
async def test_accept_that_fails_has_accepted_nothing(database: Database, tmp_path: Path) -> None:
    """Here the identity of the node cannot be written."""
    overrides = [f"doorkeeper.data.dir={tmp_path / 'missing' / 'data'}"]
    settings = settings_at(parse_address(database.url()), overrides)
    with pytest.raises(StorageError, match="found no store in this database"):
        await accept(settings)
    await fill(tmp_path / "source", adding(1, 2))
    await copied(data_folder(tmp_path / "source"), location_of(settings))
    database.execute(
        "DELETE FROM doorkeeper.item WHERE ctid IN (SELECT min(ctid) FROM doorkeeper.item)"
    )

    with pytest.raises(StorageError, match="cannot open"):
        await accept(settings)

    _, findings = await check(location_of(settings))
    assert "digest: the rows do not match" in str(findings)


@pytest.mark.interop
async def test_copy_to_postgresql_and_back(database: Database, tmp_path: Path) -> None:
    """ACLs and their log go to PostgreSQL and come back the same."""
    source, target = tmp_path / "source", tmp_path / "target"
    await fill(source, adding(*range(3_000)), adding(3_000), removing(5, 6, 7), *CHANGES[1:3])
    shared = location_of(settings_at(parse_address(database.url())))

    header = await copied(data_folder(source), shared)
    back = await copied(shared, data_folder(target))
    assert replace(back, store_id=header.store_id) == header

    for location in (shared, data_folder(target)):
        found, findings = await check(location)
        assert (replace(found, store_id=header.store_id), findings) == (header, [])
    assert numbers_in(target) == numbers_in(source)
    for statement in (
        f"SELECT {', '.join(COLUMNS[LOG][:-ONLY_SHARED])} FROM change_log ORDER BY revision, item",
        "SELECT key, value FROM meta WHERE key IN ('cluster_id', 'salt_key')",
    ):
        assert query(source, statement) == query(target, statement)


@pytest.mark.interop
async def test_change_during_copy_is_reported(database: Database, tmp_path: Path) -> None:
    shared = location_of(settings_at(parse_address(database.url())))
    await fill(tmp_path / "source", adding(1))
    await copied(data_folder(tmp_path / "source"), shared)

    def write_meanwhile(step: str) -> None:
        if step == "compare":
            database.execute("UPDATE doorkeeper.head SET revision = 2")

    with pytest.raises(StorageError, match="was changed while it was copied"):
        await copy(
            shared,
            data_folder(tmp_path / "target"),
            overwrite=False,
            now_ms=NOW_MS,
            progress=write_meanwhile,
        )
