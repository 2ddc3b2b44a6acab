"""The past of a store: states, revisions in pages, and the hash chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.model import ANY_BINDING
from doorkeeper.acls.search import find
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CREDENTIAL
from doorkeeper.server.state.history import revisions as revisions_module
from doorkeeper.server.state.history.moments import Moment
from doorkeeper.server.state.history.reading import (
    BeforeHistory,
    revision_at,
    state_at,
)
from doorkeeper.server.state.history.revisions import (
    RevisionFilter,
    newest_first,
    read_page,
    read_revisions,
)
from doorkeeper.server.state.history.verification import RecordedHash, verify
from doorkeeper.server.state.state import EMPTY, apply_at_once
from doorkeeper.server.state.storage.portable_embedded import reading
from doorkeeper.server.state.storage.upkeep import prune
from doorkeeper.server.state.store import StorageError
from testkit.portables import CHANGES
from testkit.stores import NOW_MS, append, binding, credential

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

    from doorkeeper.server.state.storage.portable import Portable


def at(minutes: float) -> Moment:
    return Moment(None, NOW_MS + round(minutes * 60_000))


async def test_state_as_of_each_revision(store: Portable) -> None:
    expected = EMPTY
    for revision in range(len(CHANGES) + 1):
        if revision:
            expected = apply_at_once(expected, CHANGES[revision - 1], revision)
        found = await state_at(store, Moment(revision, None))

        assert found.revision == expected.revision == revision
        assert list(find(found.acls, ANY_BINDING)) == list(find(expected.acls, ANY_BINDING))
        assert found.topics.names() == expected.topics.names()
        assert set(found.configs) == set(expected.configs)
        assert set(found.tokens) == set(expected.tokens)
        assert sorted(found.credentials.names()) == sorted(expected.credentials.names())

    bob = (await state_at(store, Moment(2, None))).credentials.credential("SCRAM-SHA-256", "bob")
    assert bob is not None
    assert (bob.iterations, bob.stored_key) == (credential("bob").iterations, b"")


async def test_time_resolves_to_a_revision(database: apsw.Connection, data_dir: Path) -> None:
    append(database, edit(CREDENTIAL, set=[credential("eve")]), 5, NOW_MS + 90_000)
    async with reading(data_dir, alone=False) as store:
        times = [at(0), at(0.5), at(1), at(3.5), at(100)]
        assert [await revision_at(store, each) for each in times] == [0, 0, 1, 5, 5]
        with pytest.raises(BeforeHistory, match=r"the earliest is revision 0, of 2026-10-14T"):
            await revision_at(store, at(-1))
        with pytest.raises(BeforeHistory, match="revision 6 does not exist; the newest is 5"):
            await revision_at(store, Moment(6, None))


async def test_pruned_state_is_rejected(database: apsw.Connection, data_dir: Path) -> None:
    prune(database, before_ms=NOW_MS + 3 * 60_000)
    async with reading(data_dir, alone=False) as store:
        for moment in (Moment(1, None), at(1.5)):
            with pytest.raises(BeforeHistory, match="the earliest is revision 2, of 2026-10-14T"):
                await state_at(store, moment)
        assert (await state_at(store, at(2.5))).revision == 2
        assert (await state_at(store, at(2.5))).topics.names() == ("a", "b")
        page = await read_page(store, RevisionFilter(), 5)
        assert ([each.revision for each in page.revisions], page.missing) == ([4, 3], [])


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("DELETE FROM change_log WHERE revision = 2", "revision 2 is missing from the log"),
        ("DELETE FROM change_log WHERE revision IN (1, 2)", "revisions 1 to 2 are missing from"),
        ("DELETE FROM change_log WHERE revision = 3 AND item = 0", "revision 3 is incomplete"),
    ],
)
async def test_state_after_a_gap_is_rejected(
    database: apsw.Connection, data_dir: Path, damage: str, text: str
) -> None:
    database.execute(damage)

    async with reading(data_dir, alone=False) as store:
        with pytest.raises(StorageError, match=f"{text}.*state as of revision 4 is not known"):
            await state_at(store, Moment(4, None))
        assert (await state_at(store, Moment(0, None))).revision == 0


async def test_unreadable_row_is_skipped_in_lists(
    database: apsw.Connection, data_dir: Path
) -> None:
    database.execute(
        "INSERT INTO change_log (revision, item, kind, key, value, deleted, time_ms,"
        " author_principal, author_host, author_listener, author_client_id)"
        " VALUES (5, 0, 'later', 'k', '[1]', 0, 1, 'a', '', '', '')"
    )
    async with reading(data_dir, alone=False) as store:
        (revision,) = await read_revisions(store, 4, 5)
        assert revision.summary() == "+ later k"
        assert revision.record()["changes"] == [{"action": "set", "kind": "later", "key": "k"}]
        assert (await state_at(store, Moment(5, None))).revision == 5


async def test_revisions_are_paged(store: Portable) -> None:
    assert [each.revision async for each in newest_first(store)] == [4, 3, 2, 1]

    page = await read_page(store, RevisionFilter(), 3)
    assert ([each.revision for each in page.revisions], page.before) == ([4, 3, 2], 2)
    page = await read_page(store, RevisionFilter(), 3, page.before)
    assert ([each.revision for each in page.revisions], page.before) == ([1], None)
    assert page.record()["before"] is None


async def test_page_lists_gaps(
    database: apsw.Connection, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revisions_module, "WINDOW", 1)
    database.execute("DELETE FROM change_log WHERE revision IN (2, 3)")
    async with reading(data_dir, alone=False) as store:
        page = await read_page(store, RevisionFilter(kinds=frozenset(["acl"])), 5)
        assert ([each.revision for each in page.revisions], page.missing) == ([4, 1], [(2, 3)])
        assert (await read_page(store, RevisionFilter(), 1)).missing == []
    database.execute("DELETE FROM change_log WHERE revision = 1")
    async with reading(data_dir, alone=False) as store:
        assert (await read_page(store, RevisionFilter(), 5)).record()["missing"] == [[1, 3]]


@pytest.mark.parametrize(
    ("wanted", "revisions"),
    [
        (RevisionFilter(since_ms=NOW_MS + 2 * 60_000), [4, 3, 2]),
        (RevisionFilter(until_ms=NOW_MS + 2 * 60_000), [2, 1]),
        (RevisionFilter(kinds=frozenset(["topic"])), [3, 2]),
        (RevisionFilter(authors=frozenset(["User:admin"])), [4, 3, 2, 1]),
        (RevisionFilter(authors=frozenset(["User:bob"])), []),
        (RevisionFilter(resources=frozenset(["a"])), [3, 2]),
        (RevisionFilter(principals=frozenset([binding(3).binding.entry.principal])), [4, 1]),
        (RevisionFilter(principals=frozenset(["User:x"])), []),
    ],
)
async def test_revisions_are_filtered(
    store: Portable, wanted: RevisionFilter, revisions: list[int]
) -> None:
    """By time, author, kind, and by principal and resource of what changed."""
    page = await read_page(store, wanted, 10)

    assert [each.revision for each in page.revisions] == revisions


async def test_revision_lists_changed_names(store: Portable) -> None:
    second, third, fourth = await read_revisions(store, 1, 4)

    assert third.summary().startswith("- topic a; + topic b")
    (resource_type, name, pattern), entry = binding(3).binding
    assert fourth.summary().startswith(
        f"- {entry.permission_type.name} {entry.principal} {entry.operation.name}"
        f" {resource_type.name} {name} ({pattern.name})"
    )
    text = str(second.record())
    assert "stored_key" not in text
    assert second.record()["changes"][0]["name"] == "a"


async def test_intact_chain_is_verified(store: Portable) -> None:
    found = await verify(store)
    again = await verify(store, [RecordedHash(found.last, found.hash)])

    assert (found.first, found.last, found.findings) == (1, 4, ())
    assert len(found.hash) == 64
    assert again.findings == ()


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("UPDATE change_log SET value = '[2]' WHERE revision = 2", "revision 2 was modified"),
        ("UPDATE change_log SET author_principal = 'x' WHERE revision = 3", "revision 3 was mod"),
        ("UPDATE change_log SET time_ms = 1 WHERE revision = 3 AND item = 0", "revision 3 was mod"),
        ("DELETE FROM change_log WHERE revision = 2", "revisions 2 to 2 are missing"),
        ("DELETE FROM change_log WHERE revision = 1", "revisions 1 to 1 are missing"),
        ("DELETE FROM change_log WHERE revision = 3 AND item = 1", "revision 3 was modified"),
        ("UPDATE change_log SET hash = NULL WHERE revision = 3", "revision 3 was modified"),
        ("DELETE FROM change_log WHERE revision = 4", "revision 4 has a recorded hash but"),
        (
            (
                "UPDATE change_log SET revision = 5 WHERE revision = 4;"
                "INSERT INTO change_log (revision, item, kind, key, value, deleted, time_ms,"
                " author_principal, author_host, author_listener, author_client_id, hash)"
                " VALUES (4, 0, 'later', 'k', '[1]', 0, 1, 'a', '', '', '', 'x')"
            ),
            "revision 4 was modified",
        ),
    ],
)
async def test_damaged_revisions_are_found(
    database: apsw.Connection, data_dir: Path, damage: str, text: str
) -> None:
    async with reading(data_dir, alone=False) as store:
        sound = await verify(store)
    database.execute(damage)

    async with reading(data_dir, alone=False) as store:
        found = await verify(store, [RecordedHash(sound.last, sound.hash)])

    assert text in "\n".join(found.findings)


async def test_pruned_chain_begins_at_the_base(database: apsw.Connection, data_dir: Path) -> None:
    prune(database, before_ms=NOW_MS + 3 * 60_000)
    async with reading(data_dir, alone=False) as store:
        found = await verify(store)
    assert (found.first, found.findings) == (3, ())
    database.execute("UPDATE meta SET value = 'x' WHERE key = 'base_hash'")
    async with reading(data_dir, alone=False) as store:
        assert "revision 3 was modified" in (await verify(store)).findings[0]


async def test_recorded_hashes_of_pruned_revisions(
    database: apsw.Connection, data_dir: Path
) -> None:
    """That of the base is compared; older ones are counted, as they cannot be."""
    async with reading(data_dir, alone=False) as store:
        hashes = [
            RecordedHash(each.revision, each.hash or "")
            for each in await read_revisions(store, 0, 4)
        ]
    prune(database, before_ms=NOW_MS + 3 * 60_000)

    async with reading(data_dir, alone=False) as store:
        assert (await store.position()).base.revision == 2
        found = await verify(store, hashes)
        assert (found.pruned, found.findings) == (1, ())
        wrong = [*hashes, RecordedHash(2, "0" * 64), RecordedHash(4, "0" * 64)]
        assert (await verify(store, wrong)).findings == tuple(
            f"revision {number} does not match its recorded hash" for number in (2, 4)
        )
