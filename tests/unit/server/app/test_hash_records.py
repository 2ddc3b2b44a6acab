"""The newest hash of the history in the server's log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.app.history import HashRecords
from doorkeeper.server.state.history.verification import recorded_hashes, verify
from doorkeeper.server.state.storage.portable_embedded import reading
from doorkeeper.server.state.store import StorageError
from testkit.edge import Log, until
from testkit.stores import adding, fill

if TYPE_CHECKING:
    from pathlib import Path


class World:
    """A store, and the records of its hashes."""

    def __init__(self, data_dir: Path, interval_s: float = 0) -> None:
        self.data_dir = data_dir
        self.head = 0
        self.is_away = False
        self.log = Log()
        self.records = HashRecords(self.read, lambda: self.head, self.log, interval_s)

    async def add(self) -> None:
        await fill(self.data_dir, adding(self.head + 1))
        self.head += 1

    async def read(self, work: Any) -> Any:
        if self.is_away:
            raise StorageError("the store is away")
        async with reading(self.data_dir, alone=False) as store:
            return await work(store)

    @property
    def recorded(self) -> list[int]:
        return [each.revision for line in self.log.lines for each in recorded_hashes(str(line))]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "data")


async def test_hash_is_recorded_after_changes(world: World) -> None:
    world.records.start()
    await world.add()
    await until(lambda: world.recorded == [1])
    await world.add()
    await until(lambda: world.recorded == [1, 2])
    await world.records.close()

    hashes = [each for line in world.log.lines for each in recorded_hashes(str(line))]
    async with reading(world.data_dir, alone=False) as store:
        assert (await verify(store, hashes)).findings == ()
    assert world.recorded == [1, 2]


async def test_last_hash_is_recorded_at_shutdown(tmp_path: Path) -> None:
    world = World(tmp_path / "data", interval_s=3600)
    world.records.start()
    await world.records.record()
    assert world.log.lines == []
    await world.add()
    world.is_away = True
    await world.records.record()
    assert [line.event for line in world.log.lines] == [
        "the newest revision hash could not be recorded"
    ]
    world.is_away = False

    await world.records.close()

    assert world.recorded == [1]
