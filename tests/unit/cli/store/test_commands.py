"""``doorkeeper store create``, ``accept``, ``backup`` and ``restore``."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import apsw
from click.testing import CliRunner
from msgspec.structs import replace

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CREDENTIAL
from doorkeeper.server.schema.features import release_change
from doorkeeper.server.state.storage.files import DATABASE_NAME
from testkit.stores import adding, credential, fill, numbers_in, open_store, removing

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def run(*words: object) -> Result:
    return CliRunner().invoke(doorkeeper, [str(word) for word in words])


async def test_restore_returns_the_backup(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    await fill(data, adding(1, 2))
    assert run("store", "backup", f"store:{data}", copy).exit_code == 0
    await fill(data, adding(3), removing(1))

    asked = run("store", "restore", f"store:{data}", copy)
    result = run("store", "restore", f"store:{data}", copy, "--yes")
    again = run("store", "restore", f"store:{data}", copy)

    assert asked.exit_code == 1
    assert "+ User:user-1," in asked.output
    assert "- User:user-3," in asked.output
    assert "The restore adds 1 ACLs and removes 1.\n" in asked.output
    assert asked.output.endswith("doorkeeper: nothing was changed: cancelled\n")
    assert (again.exit_code, "Restore:" in again.output) == (0, False)

    assert result.exit_code == 0, result.output
    assert "the previous store is in" in result.output
    assert numbers_in(data) == [1, 2]


async def test_restore_asks_before_users_and_rules_come_back(tmp_path: Path) -> None:
    """No ACL differs: the passwords of a user who was removed would be valid again."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    old, eve = credential("bob"), credential("eve")
    await fill(data, {**edit(CREDENTIAL, set=[old, eve]), **release_change("4.4")})
    assert run("store", "backup", f"store:{data}", copy).exit_code == 0
    new = replace(old, stored_key=b"another password")
    change = edit(CREDENTIAL, set=[new, credential("zoe")], deleted=[eve])
    await fill(data, {**change, **release_change("4.3")})

    asked = run("store", "restore", f"store:{data}", copy)
    found = run("store", "restore", f"store:{data}", copy, "--yes", "--output", "json")

    lines = [
        "+ credential bob SCRAM-SHA-256",
        "+ credential eve SCRAM-SHA-256",
        "+ feature metadata.version",
        "- credential zoe SCRAM-SHA-256",
    ]
    assert asked.exit_code == 1
    end = "The restore adds 0 ACLs and removes 0; other changes: 4."
    assert asked.stdout.splitlines() == [*lines, end]
    assert json.loads(found.stdout)["others"] == lines


async def test_restore_asks_before_another_cluster_takes_the_place(tmp_path: Path) -> None:
    for name in ("data", "other"):
        await fill(tmp_path / name, adding(1))
    run("store", "backup", f"store:{tmp_path}/other", tmp_path / "copy")

    asked = run("store", "restore", f"store:{tmp_path}/data", tmp_path / "copy")

    assert asked.exit_code == 1
    assert "- cluster id " in asked.stdout
    assert "+ cluster id " in asked.stdout


async def test_restore_asks_before_a_store_that_cannot_be_read_is_replaced(tmp_path: Path) -> None:
    """What it would lose is not known."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    await fill(data, adding(1))
    run("store", "backup", f"store:{data}", copy)
    (data / DATABASE_NAME).write_bytes(b"no database" * 1000)

    asked = run("store", "restore", f"store:{data}", copy)
    restored = run("store", "restore", f"store:{data}", copy, "--yes")

    assert asked.exit_code == 1
    assert "cannot determine what changes" in asked.stderr
    assert asked.stderr.endswith("doorkeeper: nothing was changed: cancelled\n")
    assert restored.exit_code == 0
    assert numbers_in(data) == [1]


async def test_backup_does_not_overwrite_by_default(tmp_path: Path) -> None:
    await fill(tmp_path / "data", adding(1))
    (tmp_path / "copy").write_text("precious")
    words = ("store", "backup", f"store:{tmp_path}/data", tmp_path / "copy")

    refused = run(*words)
    assert refused.exit_code == 1
    assert refused.stderr.count("\n") == 1
    assert (tmp_path / "copy").read_text() == "precious"

    assert run(*words, "--overwrite").exit_code == 0


def test_store_is_created_once(tmp_path: Path) -> None:
    data = tmp_path / "data"

    first = run("store", "create", f"store:{data}")
    refused = run("store", "create", f"store:{data}")
    again = run("store", "create", f"store:{data}", "--overwrite")

    assert first.output == f"{data}: created an empty store\n"
    assert refused.exit_code == 1
    assert "found a store, or traces of one" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert again.exit_code == 0
    assert f"the previous store is in {data / 'doorkeeper.db.before-create-'}" in again.output


def test_accept_allows_an_older_store(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    asyncio.run(fill(data, adding(1)))
    copy.write_bytes((data / "doorkeeper.db").read_bytes())
    asyncio.run(fill(data, adding(2)))
    (data / "doorkeeper.db").write_bytes(copy.read_bytes())

    result = run("store", "accept", f"store:{data}")

    assert result.output.startswith(f"{data}: accepted: store ")
    assert result.output.endswith(" at revision 1\n")
    assert numbers_in(data) == [1]


def test_accept_that_fails_leaves_the_identity(tmp_path: Path) -> None:
    """Without it, the next start would accept whatever store is there."""
    data = tmp_path / "data"
    asyncio.run(fill(data, adding(1)))
    identity = (data / "doorkeeper.identity").read_text()
    newer = apsw.Connection(str(data / "doorkeeper.db"))
    newer.execute("UPDATE meta SET value = 7 WHERE key = 'schema_version'")
    newer.close()

    result = run("store", "accept", f"store:{data}")

    assert result.exit_code == 1
    assert "made by a newer Doorkeeper" in result.stderr
    assert (data / "doorkeeper.identity").read_text() == identity


def test_accept_requires_an_unused_store(tmp_path: Path) -> None:
    missing = run("store", "accept", f"store:{tmp_path}/data")
    store = open_store(tmp_path / "data")
    in_use = run("store", "accept", f"store:{tmp_path}/data")

    assert "found no store" in missing.stderr
    assert "in use" in in_use.stderr
    assert missing.exit_code == in_use.exit_code == 1
    store.close()
    open_store(tmp_path / "data").close()
