"""The code of docs/how-to/writing-an-authorizer.md does what the page says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from testkit.e2e import refusal, serving, topic_code
from testkit.page_commands import File, page, steps
from testkit.serving import Serving, creation

if TYPE_CHECKING:
    from pathlib import Path

PAGE = page("writing-an-authorizer.md")
TUTORIAL = page("an-authorizer-of-your-own.md")
LATER_IMPORT = "from doorkeeper.plugins import masks_by_authorize"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the pages; a second block of a file goes on with it."""
    assert f"`{LATER_IMPORT}`" in PAGE
    files: dict[str, str] = {"no_strangers.py": f"{LATER_IMPORT}\n"}
    for step in steps(PAGE) + steps(TUTORIAL):
        if isinstance(step, File):
            files[step.name] = files.get(step.name, "") + step.text
    assert {"office_hours.py", "slow_store.py", "pyproject.toml"} <= set(files)
    for name, code in files.items():
        (tmp_path / name).write_text(code)
    return tmp_path


def created(server: Serving, principal: str) -> tuple[int, str | None]:
    with server.connect() as conversation:
        (row,) = conversation.call(creation(principal), CreateAclsResponse, 3).results
    return row.error_code, row.error_message


def test_minimal_authorizer(folder: Path) -> None:
    name = "authorizer.class.name=office_hours.OfficeHours"
    with serving(folder, name, "office.hours=0-24") as server:
        with server.connect() as conversation:
            assert topic_code(conversation) == 3
        assert created(server, "User:a") == (44, "The clock decides; there are no ACLs.")
        assert server.stop() == 0
    with serving(folder, name, "office.hours=0-0") as server, server.connect() as conversation:
        assert topic_code(conversation) == 29
    assert refusal(serving(folder, name, "office.hours=nine")) == (
        "doorkeeper: --override: office.hours: found no hours; allowed: two of them, as 9-17"
    )


def test_authorizer_that_stores_acls(folder: Path) -> None:
    name = "authorizer.class.name=no_strangers.NoStrangers"
    with serving(folder, name) as server:
        assert created(server, "User:a") == (0, "")
        assert server.stop() == 0
    with serving(folder, name) as server:
        assert server.line("started")["acls"] == 1


def test_authorizer_with_asynchronous_updates(folder: Path) -> None:
    with serving(folder, "authorizer.class.name=slow_store.SlowStore") as server:
        assert created(server, "User:a") == (0, "")
        assert created(server, "User:*") == (44, "Name a user.")
        assert server.stop() == 0
        assert not server.of("threads of the authorizer are still running")
