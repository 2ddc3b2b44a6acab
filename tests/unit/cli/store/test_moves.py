"""``doorkeeper store check`` and ``copy``, as they are typed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import apsw
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.state.storage.files import DATABASE_NAME
from testkit.portables import fill_fully

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def run(*words: object) -> Result:
    return CliRunner().invoke(doorkeeper, ["store", *(str(word) for word in words)])


def prepared(folder: Path) -> Path:
    """Make a store in a loop of its own: the commands have theirs."""
    asyncio.run(fill_fully(folder))
    return folder


def test_check_reports_each_problem(tmp_path: Path) -> None:
    """Status 1, a line for each finding, nothing on stdout."""
    data = prepared(tmp_path / "data")
    connection = apsw.Connection(str(data / DATABASE_NAME))
    connection.execute("DELETE FROM item WHERE kind IN ('topic', 'config')")
    connection.close()

    result = run("check", f"store:{data}")

    assert result.exit_code == 1
    assert result.stdout == ""
    first, *lines = result.stderr.splitlines()
    assert first.startswith("doorkeeper: digest: the rows do not match revision 4")
    assert lines == [
        "doorkeeper: topic: 'b' is missing, but revision 3 set it",
        'doorkeeper: config: \'["","k"]\' is missing, but revision 2 set it',
    ]


def test_copy_reports_rows_and_revision(tmp_path: Path) -> None:
    source, target = prepared(tmp_path / "source"), tmp_path / "target"
    words = ("copy", f"store:{source}", f"store:{target}")

    first, refused = run(*words), run(*words)
    again = run(*words, "--overwrite")

    assert first.exit_code == 0, first.output
    assert f"{target}: copied and verified 57 rows of {source}, revision 4\n" == first.output
    assert refused.exit_code == 1
    assert "not empty; to replace it, add --overwrite" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert again.exit_code == 0
    assert "the previous store is in" in again.output


def test_store_address_may_be_a_configuration(tmp_path: Path) -> None:
    data = prepared(tmp_path / "data")
    file = tmp_path / "server.properties"
    file.write_text(f"doorkeeper.data.dir={data}\n")

    assert run("check", f"config:{file}").exit_code == 0


def test_other_addresses_are_rejected() -> None:
    for address in ("kafka://h:1", "h:1", "mysql://u:s3cret@h/d", "-"):
        result = run("check", address)
        assert result.exit_code == 2
        assert "postgresql://USER@HOST/DATABASE" in " ".join(result.stderr.split())
        assert "s3cret" not in result.stderr


def test_errors_are_one_line(tmp_path: Path) -> None:
    """A URL that is wrong, a store that is not there: a line each, no traceback, no password."""
    for store in (
        "postgresql://u:s3cret@h",
        "postgresql://u:s3cret@127.0.0.1:1/d",
        f"store:{tmp_path}",
    ):
        result = run("check", store)
        assert result.exit_code == 1
        assert result.stderr.count("\n") == 1
        assert "s3cret" not in result.stderr
