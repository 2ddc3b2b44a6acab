"""doorkeeper.cli.offline.log: a command's part of its server's trail."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from doorkeeper.cli.offline.log import audit_log_output, offline_log, submit
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.operations.audit.files import AuditFolder
from doorkeeper.server.operations.audit.names import open_name
from doorkeeper.server.schema.change import SERVER
from testkit.settings import settings_of
from testkit.stores import adding, numbers_in, open_store
from testkit.trails import Disk, line_of, lines_in
from testkit.trails import written as written_file

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.config.settings import Settings


def at(folder: Path, text: str = "") -> Settings:
    return settings_of(
        f"doorkeeper.data.dir={folder / 'data'}\ndoorkeeper.audit.dir={folder / 'audit'}\n{text}"
    )


async def change(settings: Settings, number: int) -> None:
    """Add an ACL as a command does."""
    async with offline_log(settings, make_store=True) as (log, trail):
        await submit(log, trail, lambda _state: adding(number), SERVER)


async def test_numbers_go_on(tmp_path: Path) -> None:
    """The first event comes after the server's last one, and a file that a killed server left is
    completed first."""
    (tmp_path / "audit").mkdir()
    written_file(tmp_path / "audit", 1, 3)
    (tmp_path / "audit" / open_name(1, 4)).write_bytes(line_of(4) + b"{")

    await change(at(tmp_path, "doorkeeper.audit.compression=none\n"), 1)

    events = lines_in(tmp_path / "audit")
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5, 6]
    assert [event["kind"] for event in events[4:]] == ["recovered", "change"]
    assert list((tmp_path / "audit").glob("*.open")) == []


async def test_the_folder_of_a_server_that_runs(tmp_path: Path) -> None:
    """Where nodes share a store, one of them may run: who writes the folder is named, nothing is
    changed, and the line says what can be done; with another node.id it is done."""
    (tmp_path / "audit").mkdir()
    folder = AuditFolder(tmp_path / "audit", 1, compress=False)

    with pytest.raises(StartError) as caught:
        await change(at(tmp_path), 1)
    await change(at(tmp_path, "node.id=77\n"), 2)

    (line,) = caught.value.problems
    assert line == (
        f"doorkeeper.audit.dir: {tmp_path / 'audit'}: another server writes the audit log of"
        " node 1 here; ask it (--bootstrap-server), or give the command a node.id that no server"
        " has"
    )
    folder.release()
    assert numbers_in(tmp_path / "data") == [2]
    assert [event["node"] for event in lines_in(tmp_path / "audit")] == [77]


async def test_a_full_disk_refuses_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With strict nothing is changed where there is no room, as by the server; the error tells it,
    and the log does not repeat it."""
    open_store(tmp_path / "data").close()
    Disk(monkeypatch).no_room = True
    settings = at(tmp_path, "doorkeeper.audit.sync=strict\n")

    with (
        audit_log_output(settings),
        pytest.raises(StartError, match=r"^Nothing was changed: .*strict: No space left"),
    ):
        await change(settings, 1)

    assert numbers_in(tmp_path / "data") == []
    assert capfd.readouterr().err == ""


async def test_a_disk_that_fills_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With strict a change that is made and cannot be recorded fails with both said."""
    disk = Disk(monkeypatch)

    async def change_while_it_fills() -> None:
        settings = at(tmp_path, "doorkeeper.audit.sync=strict\n")
        async with offline_log(settings, make_store=True) as (log, trail), trail.recording():
            disk.full = True
            await log.start()
            await log.submit(lambda _state: adding(1), SERVER)

    monkeypatch.setattr(AuditFolder, "free_reserve", lambda folder: False)
    with pytest.raises(StartError) as caught:
        await change_while_it_fills()

    assert str(caught.value) == (
        "The change was made, but the audit log could not be written: No space left on device"
    )
    assert numbers_in(tmp_path / "data") == [1]


async def test_a_full_disk_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without strict the change is made, and stderr tells what is missing in the trail."""
    settings = at(tmp_path)

    def full(_folder: AuditFolder, _first: int) -> tuple[Path, int]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(AuditFolder, "open", full)
    with audit_log_output(settings):
        await change(settings, 1)

    said = capfd.readouterr().err
    assert numbers_in(tmp_path / "data") == [1]
    assert "the audit log cannot be written" in said
    assert "changes are missing in the audit log events=1" in said


async def test_it_is_synced_before_the_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With strict the event is on the disk when the change is said to be made."""
    synced: list[int] = []
    fdatasync = os.fdatasync

    def syncing(descriptor: int) -> None:
        synced.append(len(lines_in(tmp_path / "audit")))
        fdatasync(descriptor)

    monkeypatch.setattr("doorkeeper.server.operations.audit.writer.os.fdatasync", syncing)
    settings = at(tmp_path, "doorkeeper.audit.sync=strict\n")
    async with offline_log(settings, make_store=True) as (log, trail):
        await submit(log, trail, lambda _state: adding(1), SERVER)
        found = list(synced)

    assert found == [1]
