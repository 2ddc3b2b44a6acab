"""Batches of files of the trail."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.errors import PipelineError, Unreadable
from doorkeeper_pipeline.streaming.batches import Batches, finished_files, name_of
from testkit.trail_files import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator


def names(batches: Batches) -> list[str]:
    """Return the resources of all decisions, sorted."""
    return sorted(pl.read_parquet(batches.decisions())["resource_name"].to_list())


def test_a_batch_is_there_once(tmp_path: Path) -> None:
    """Files that are given again, beside whatever others, are left out."""
    batches = Batches(tmp_path)
    first = str(write_file(tmp_path, 1, 2))

    results = batches.add([first], LocalEngine()).results

    assert [(result.lines, result.decisions) for result in results] == [(2, 2)]
    assert batches.add([first], LocalEngine()).results == []
    assert names(batches) == ["t1", "t2"]
    assert batches.numbers() == [0]
    assert batches.add([first, str(write_file(tmp_path, 3, 1))], LocalEngine()).number == 1
    assert names(batches) == ["t1", "t2", "t3"]


def test_a_file_is_read_once_whatever_it_is_called(tmp_path: Path) -> None:
    """A file that was compressed after it was read is not read again, in no batch."""
    batches = Batches(tmp_path)
    plain = write_file(tmp_path, 1, 2)
    batches.add([str(plain)], LocalEngine())
    packed = write_file(tmp_path, 1, 2, compressed=True)

    assert batches.add([str(packed)], LocalEngine()).results == []
    assert names(batches) == ["t1", "t2"]
    assert name_of(str(packed)) == name_of(str(plain)) == plain.name


def test_bad_lines_and_damaged_files(tmp_path: Path) -> None:
    """What cannot be read is in the quarantine of the batch, and stops no stream."""
    good = write_file(tmp_path, 1, 2)
    with good.open("ab") as file:
        file.write(b'{"kind": "decision", "torn')
    damaged = tmp_path / "b.jsonl.zst"
    damaged.write_bytes(b"\x28\xb5\x2f\xfd" + b"no" * 20)
    batches = Batches(tmp_path)

    results = batches.add([str(good), str(damaged)], LocalEngine()).results

    assert [result.quarantined for result in results] == [1, 1]
    assert names(batches) == ["t1", "t2"]
    reasons = pl.read_parquet(batches.quarantine())["reason"].to_list()
    assert any("damaged zst" in reason for reason in reasons)


def test_finished_files(tmp_path: Path) -> None:
    """Files that are being written, and what else is in the folder, are left alone."""
    for name in (
        "b.jsonl",
        "a.jsonl.zst",
        "c.jsonl.open",
        "d.jsonl.tmp",
        "audit-1.lock",
        ".e.jsonl",
    ):
        (tmp_path / name).touch()

    assert [path.name for path in finished_files(tmp_path)] == ["a.jsonl.zst", "b.jsonl"]
    with pytest.raises(Unreadable, match="nowhere"):
        finished_files(tmp_path / "nowhere")


class Dies(LocalEngine):
    """Keeps its tasks and ends."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[Any] = []

    def map(self, function: Any, tasks: Any, shared: Any) -> Iterator[Any]:
        self.left += [(function, shared, task) for task in tasks]
        raise PipelineError("the driver dies")


class Late(LocalEngine):
    """Has tasks of a driver that died write beside its own."""

    def __init__(self, left: list[Any]) -> None:
        super().__init__()
        self._left = left

    def map(self, function: Any, tasks: Any, shared: Any) -> Iterator[Any]:
        results = list(super().map(function, tasks, shared))
        for its_function, its_shared, task in self._left:
            its_function(its_shared, task)
        return iter(results)


def test_tasks_of_a_driver_that_died(tmp_path: Path) -> None:
    """What they write while the next driver makes the same batch is not in it."""
    batches, dies = Batches(tmp_path), Dies()
    file = str(write_file(tmp_path, 1, 2))
    with pytest.raises(PipelineError, match="the driver dies"):
        batches.add([file], dies)
    (left,) = dies.left

    batches.add([file], Late([left]))

    assert names(batches) == ["t1", "t2"]
    assert len(batches.decisions()) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.streaming.batches import Batches

out, file, step = sys.argv[1:]

def checkpoint(reached):
    if reached == step:
        os.kill(os.getpid(), signal.SIGKILL)

Batches(Path(out)).add([file], LocalEngine(), checkpoint)
"""


@pytest.mark.parametrize("step", ["staged", "renamed"])
def test_a_killed_batch(tmp_path: Path, step: str) -> None:
    """Killed before the rename or after it, given again it is there once."""
    file = str(write_file(tmp_path, 1, 3))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), file, step], check=False, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    batches = Batches(tmp_path)
    assert batches.numbers() == ([] if step == "staged" else [0])

    batches.add([file], LocalEngine())

    assert names(batches) == ["t1", "t2", "t3"]
    assert batches.file_names() == {name_of(file)}


def test_what_cannot_be_opened_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission ends the stream: in a batch it would count as read for ever."""
    file = write_file(tmp_path, 1, 2)
    shut = Path.open

    def opened(path: Path, mode: str = "r", **rest: Any) -> Any:
        if path == file:
            raise PermissionError(13, "Permission denied")
        return shut(path, mode, **rest)

    batches = Batches(tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", opened)
        with pytest.raises(PipelineError, match="Permission denied"):
            batches.add([str(file)], LocalEngine())

    assert batches.numbers() == []
    batches.add([str(file)], LocalEngine())
    assert names(batches) == ["t1", "t2"]
