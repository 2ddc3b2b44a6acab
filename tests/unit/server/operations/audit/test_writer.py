"""writer: what the thread does, turn by turn, also with a disk that is full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.server.config.audit_keys import AUDIT_COMPRESSION, AUDIT_SYNC, Sync
from doorkeeper.server.operations.audit.events import Reload
from doorkeeper.server.operations.audit.files import AuditFolder
from doorkeeper.server.operations.audit.names import open_name, whole_name
from doorkeeper.server.operations.audit.queue import Queue, QueuedEvents
from doorkeeper.server.operations.audit.writer import RETRY_S, Writer, _File
from doorkeeper.server.runtime.metrics.meters import AuditMeter
from testkit.load import scaled
from testkit.trails import Disk, HandLoop, Log, Time, Waiter, audit_settings, lines_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Make = Callable[..., "World"]


class World:
    """A writer whose turns the test takes."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.path, self.settings = folder, audit_settings(folder, **changes)
        self.folder = AuditFolder(folder, 1, compress=self.settings[AUDIT_COMPRESSION] != "none")
        self.queue, self.log, self.meter, self.time = Queue(1000), Log(), AuditMeter(), Time()
        self.writer = self.made()
        self.told: list[str | None] = []
        if self.settings[AUDIT_SYNC] is Sync.STRICT:
            self.writer._take_reserve()

    def made(self) -> Writer:
        return Writer(
            self.queue,
            self.folder,
            self.settings,
            HandLoop().loop,
            clocks=self.time.clocks,
            logger=self.log,
            meter=self.meter,
        )

    def put(
        self,
        name: str = "a",
        *,
        is_change: bool = False,
        happened: int = 1,
        waiter: Any = None,
    ) -> None:
        event = Reload(outcome="SUCCEEDED", reason=name)
        item = QueuedEvents(
            self.time.ns,
            lambda: [event],
            happened=happened,
            changes=int(is_change),
            must_be_kept=is_change,
            waiter=waiter,
        )
        assert self.queue.put(item, must_be_kept=item.must_be_kept)

    def turn(self) -> None:
        """Take what waits and work it off, as the thread does; somebody waits for it."""
        batch = self.queue.take(0)
        if batch.items:
            batch.items[-1] = replace(batch.items[-1], waiter=Waiter(self.told).future)
        self.writer._work(batch)

    def idle(self) -> None:
        self.writer._work(self.queue.take(0))

    @property
    def lines(self) -> list[dict[str, Any]]:
        return lines_in(self.path)

    def problem(self) -> str | None:
        return self.writer.failing

    @property
    def reasons(self) -> list[object]:
        return [line["reason"] for line in self.lines]

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.glob("audit-*.jsonl*"))


def raises(error: Exception) -> Callable[..., Any]:
    def raise_it(*_: object) -> None:
        raise error

    return raise_it


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Make]:
    worlds = []

    def make(**changes: Any) -> World:
        worlds.append(World(tmp_path / "audit", **changes))
        return worlds[-1]

    yield make
    for each in worlds:
        each.writer._close_file()
        each.folder.release()


def test_events_are_written_as_lines(world: Make) -> None:
    """What was put is in the open file before who waits is told, numbered from 1."""
    w = world()
    w.put("a")
    w.put("b")

    w.turn()

    assert [(line["seq"], line["reason"]) for line in w.lines] == [(1, "a"), (2, "b")]
    assert w.told == [None]
    assert w.names == [open_name(1, 1)]
    assert w.meter.written.value == 2


def test_file_is_closed_at_its_size_limit(world: Make) -> None:
    w = world(file_bytes=300, compression="zstd")
    for name in ("a", "b", "c"):
        w.put(name)
        w.turn()

    assert w.names == [whole_name(1, 1, 2, compressed=True), open_name(1, 3)]
    assert w.reasons == ["a", "b", "c"]


@pytest.mark.parametrize("sync", [Sync.INTERVAL, Sync.STRICT])
def test_waiters_are_served_before_a_full_file_is_compressed(
    world: Make, monkeypatch: pytest.MonkeyPatch, sync: Sync
) -> None:
    """With strict the full file is synced before; compression may take seconds."""
    w = world(file_bytes=300, sync=sync)
    close, sync_file = AuditFolder.close, _File.sync
    steps: list[str] = []

    def recorded_close(folder: AuditFolder, *arguments: Any) -> Path:
        steps.append(f"close, {len(w.told)} served")
        return close(folder, *arguments)

    def recorded_sync(file: _File) -> None:
        steps.append(f"sync {file.first}, {len(w.told)} served")
        sync_file(file)

    monkeypatch.setattr(AuditFolder, "close", recorded_close)
    monkeypatch.setattr(_File, "sync", recorded_sync)
    for name in ("a", "b"):
        w.put(name)
        w.turn()
    steps.clear()
    w.put("c")
    w.turn()

    synced = ["sync 1, 2 served", "sync 3, 2 served"]
    assert steps == [*(synced if sync is Sync.STRICT else []), "close, 3 served"]


def test_file_is_closed_at_its_age_limit(world: Make) -> None:
    w = world(file_ms=30_000)
    w.put()
    w.turn()
    assert w.writer._timeout_s() == pytest.approx(0.1)
    w.time.sleep(29)
    w.idle()
    assert w.names == [open_name(1, 1)]
    assert w.writer._timeout_s() == pytest.approx(1)
    w.time.sleep(1)

    w.idle()

    assert w.names == [whole_name(1, 1, 1, compressed=False)]
    assert w.writer._timeout_s() is None


@pytest.mark.parametrize(("sync", "after"), [(Sync.NONE, 0), (Sync.INTERVAL, 1), (Sync.STRICT, 2)])
def test_sync_modes(world: Make, sync: Sync, after: int) -> None:
    """Strict syncs before who waits is told; interval after 100 ms; none never."""
    w = world(sync=sync)
    w.put()
    w.turn()
    assert sum(w.meter.sync_seconds.counts) == (sync is Sync.STRICT)
    w.put()
    for _ in range(2):
        w.time.sleep(0.11)
        w.idle()

    assert sum(w.meter.sync_seconds.counts) == after


def test_dropped_events_are_recorded(world: Make) -> None:
    w = world()
    w.queue.lose(3, 50)
    w.queue.lose(1, 70)
    w.put("later")

    w.turn()

    dropped, later = w.lines
    assert dropped["kind"] == "dropped"
    assert {
        name: dropped[name] for name in ("count", "changes", "first_ns", "last_ns", "reason")
    } == {
        "count": 4,
        "changes": 0,
        "first_ns": 50,
        "last_ns": 70,
        "reason": "queue",
    }
    assert later["reason"] == "later"


def test_full_disk_without_strict_sync(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    w, disk = world(), Disk(monkeypatch)
    w.put("a")
    w.turn()
    disk.full = disk.half = True
    w.put("b", happened=5)
    w.put("c", is_change=True)
    w.turn()

    assert w.told == [None, None]
    assert w.problem() == "No space left on device"
    assert w.reasons == ["a"]
    assert w.meter.lost.value == 2
    assert w.writer._timeout_s() == pytest.approx(0.1)
    disk.full = False
    w.put("d")
    w.turn()

    _, dropped, last = w.lines
    assert (dropped["count"], dropped["changes"], dropped["reason"]) == (6, 1, "disk")
    assert (last["reason"], last["seq"]) == ("d", 3)
    assert w.problem() is None
    assert w.log.texts == [
        "the audit log cannot be written",
        "the audit log can be written again",
    ]


def test_full_disk_with_strict_sync(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    w = world(sync=Sync.STRICT)
    reserve = w.path / "audit-1.reserve"
    assert reserve.exists()
    disk.full = disk.no_room = True
    free_reserve = AuditFolder.free_reserve

    def freed(folder: AuditFolder) -> bool:
        disk.full = False
        return free_reserve(folder)

    monkeypatch.setattr(AuditFolder, "free_reserve", freed)
    w.put("decision")
    w.put("change", is_change=True)
    w.turn()

    assert w.told == [None]
    assert w.reasons == ["change"]
    assert w.problem() == "No space left on device"
    assert not reserve.exists()
    w.put("decision")
    w.put("another that was under way", is_change=True)
    w.turn()
    assert w.told == [None, None]
    assert w.reasons == ["change", "another that was under way"]
    assert w.writer._timeout_s() == pytest.approx(RETRY_S)
    disk.no_room = False
    w.idle()

    assert w.problem() is None
    assert reserve.exists()
    assert (w.lines[-1]["kind"], w.lines[-1]["count"], w.lines[-1]["changes"]) == ("dropped", 2, 0)


def test_change_that_cannot_be_written_is_rejected(
    world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    w = world(sync=Sync.STRICT)
    disk.full = disk.no_room = True
    w.put("change", is_change=True)
    w.turn()

    assert w.told == ["No space left on device"]
    assert w.lines == []
    disk.full = disk.no_room = False
    w.put("another", is_change=True)
    w.turn()

    assert w.reasons == ["change", "another"]
    assert w.told[-1] is None
    assert w.meter.lost.value == 0


@pytest.mark.parametrize(
    ("sync", "told"), [(Sync.INTERVAL, None), (Sync.STRICT, "Input/output error")]
)
def test_sync_failure_is_reported(
    world: Make, monkeypatch: pytest.MonkeyPatch, sync: Sync, told: str | None
) -> None:
    w, disk = world(sync=sync), Disk(monkeypatch)
    disk.no_sync = True
    w.put("a", is_change=True)
    w.time.sleep(1)
    w.writer._unsynced_since_s = 0.0
    w.turn()

    assert w.told == [told]
    assert w.names == [whole_name(1, 1, 1, compressed=False)]
    disk.no_sync = False
    w.put("b")
    w.turn()
    assert w.told[-1] is None
    assert w.names == [whole_name(1, 1, 1, compressed=False), open_name(1, 2)]


def broken() -> list[Reload]:
    raise ValueError("odd")


def test_unbuildable_event_does_not_affect_others(world: Make) -> None:
    w = world(sync=Sync.STRICT)
    told: list[str | None] = []
    w.put("a")
    w.queue.put(QueuedEvents(1, broken, changes=1, must_be_kept=True, waiter=Waiter(told).future))
    w.put("b")
    w.turn()

    assert w.reasons == ["a", "b"]
    assert (told[0], w.told) == ("ValueError('odd')", [None])
    assert w.log.texts == ["audit events could not be created"]
    w.put("c")
    w.turn()
    assert [(line["kind"], line.get("changes")) for line in w.lines[2:]] == [
        ("dropped", 1),
        ("reload", None),
    ]


def test_thread_failure_loses_no_change(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    w = world(sync=Sync.STRICT)
    with monkeypatch.context() as patched:
        patched.setattr(w.folder, "open", raises(OSError(5, "Input/output error")))
        w.put("held", is_change=True)
        w.turn()
    with monkeypatch.context() as patched:
        patched.setattr(w.folder, "open", raises(RuntimeError("a fault")))
        w.put("lost")
        w.put("next", is_change=True)
        w.writer._work_or_log(w.queue.take(0))
    assert w.problem() == "RuntimeError('a fault')"

    w.idle()
    w.idle()
    assert [line["reason"] for line in w.lines if line["kind"] == "reload"] == ["held", "next"]
    assert w.problem() is None


def test_thread_survives_errors(world: Make) -> None:
    w = world()
    w.writer.start()

    w.queue.put(QueuedEvents(1, broken))
    w.put("a", waiter=Waiter(w.told).future)

    assert w.queue.close(scaled(10))
    assert w.names in (
        [],
        [whole_name(1, 1, 1, compressed=False)],
        [whole_name(1, 1, 2, compressed=False)],
    )
    assert w.log.texts == ["audit events could not be created"]
    assert w.queue.size == 0


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), RuntimeError("compressor")])
def test_failed_rotation_does_not_refuse_changes_for_ever(
    world: Make, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Without decisions and logins no event comes that would show that the disk works."""
    w = world(file_ms=1000, sync=Sync.STRICT)
    w.put(is_change=True)
    w.turn()
    with monkeypatch.context() as failing:
        failing.setattr(w.folder, "close", raises(error))
        w.time.sleep(2)
        w.idle()
    assert w.problem()

    w.idle()

    assert w.problem() is None


def test_failed_deletion_of_old_files_is_logged(
    world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log can be written: no change is refused, and nobody is told that it was not recorded."""
    w = world(file_ms=1000, sync=Sync.STRICT)
    monkeypatch.setattr(w.folder, "delete_old", raises(OSError(13, "Permission denied")))
    w.put(is_change=True)
    w.turn()
    w.time.sleep(2)
    w.idle()

    assert w.problem() is None
    assert [event for event, _ in w.log.events if "deleted" in event] == [
        "old files of the audit log could not be deleted"
    ]
