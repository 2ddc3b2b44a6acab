"""``doorkeeper store backup`` and ``restore``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.stores import adding, fill, numbers_in, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def run(*words: object) -> Result:
    return CliRunner().invoke(doorkeeper, [str(word) for word in words])


async def test_a_backup_comes_back(tmp_path: Path) -> None:
    """What was in the store when it was backed up is there after the restore."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    await fill(data, adding(1, 2))
    assert run("store", "backup", copy, "--data-dir", data).exit_code == 0
    await fill(data, adding(3))

    result = run("store", "restore", copy, "--data-dir", data)

    assert result.exit_code == 0, result.output
    assert "the previous one is" in result.output
    assert numbers_in(data) == [1, 2]


async def test_the_folder_may_come_from_the_configuration(tmp_path: Path) -> None:
    """--config says where the store is, as for serve."""
    await fill(tmp_path / "data", adding(1))
    file = tmp_path / "server.properties"
    file.write_text(f"doorkeeper.data.dir={tmp_path / 'data'}\n")

    result = run("store", "backup", tmp_path / "copy", "--config", file)

    assert result.exit_code == 0, result.output
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600


async def test_a_backup_replaces_nothing_unasked(tmp_path: Path) -> None:
    """An existing target is an error of one line, unless --overwrite is given."""
    await fill(tmp_path / "data", adding(1))
    (tmp_path / "copy").write_text("precious")
    words = ("store", "backup", tmp_path / "copy", "--data-dir", tmp_path / "data")

    refused = run(*words)
    assert refused.exit_code == 1
    assert refused.stderr.count("\n") == 1
    assert (tmp_path / "copy").read_text() == "precious"

    assert run(*words, "--overwrite").exit_code == 0


def test_a_running_server_keeps_its_store(tmp_path: Path) -> None:
    """Restoring over a store in use is refused in one line."""
    store = open_store(tmp_path / "data")
    assert run("store", "backup", tmp_path / "copy", "--data-dir", tmp_path / "data").exit_code == 0

    result = run("store", "restore", tmp_path / "copy", "--data-dir", tmp_path / "data")

    assert result.exit_code == 1
    assert "in use" in result.stderr
    assert result.stderr.count("\n") == 1
    store.close()
