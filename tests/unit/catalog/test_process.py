"""Reading a large catalog in a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper.catalog.errors import CatalogError
from doorkeeper.catalog.loading import load
from doorkeeper.catalog.process import read_apart
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "catalog.yaml"
READERS = {
    "killed": ("import os\nos.kill(os.getpid(), 9)\n", "was ended by SIGKILL"),
    "failed": ("raise MemoryError('too much')\n", "ended with status 1: MemoryError: too much"),
    "silent": ("", "wrote invalid output: there is no end"),
    "talking": ("print('hello')\n", "wrote invalid output: a line is not a pair: "),
    "slow": ("import time\ntime.sleep(600)\n", "took longer than 0.5 s"),
}


async def test_a_catalog_is_read_as_in_this_process() -> None:
    """From the bytes to the groups."""
    assert await read_apart(EXAMPLE) == load(EXAMPLE)


async def test_every_fault_is_told(tmp_path: Path) -> None:
    """With file and line."""
    file = tmp_path / "c.yaml"
    file.write_text("topics:\n- name: 'a b'\n- name: 'c d'\n")

    with pytest.raises(CatalogError) as caught:
        await read_apart(file)

    assert [(each.file, each.line) for each in caught.value.problems] == [
        (str(file), 2),
        (str(file), 3),
    ]


@pytest.mark.parametrize("name", READERS)
async def test_a_process_that_fails_is_a_problem_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Killed, failing, silent, with something else to say, or endless: there is no catalog."""
    text, told = READERS[name]
    (tmp_path / f"reader_{name}.py").write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    most_s = 0.5 if name == "slow" else 60

    with pytest.raises(CatalogError) as caught:
        await read_apart(EXAMPLE, most_s=most_s, module=f"reader_{name}")

    (problem,) = caught.value.problems
    assert str(problem).startswith(f"{EXAMPLE}: the process that reads it {told}")


async def test_a_process_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the system's."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with pytest.raises(CatalogError, match="cannot be started: No such file or directory"):
        await read_apart(EXAMPLE)


async def test_who_gives_up_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that stops leaves nobody behind."""
    pid_file = tmp_path / "pid"
    (tmp_path / "reader_waiting.py").write_text(
        "import os, pathlib, sys, time\n"
        "file = pathlib.Path(sys.argv[1] + '.new')\n"
        "file.write_text(str(os.getpid()))\n"
        "file.rename(sys.argv[1])\n"
        "time.sleep(600)\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    reading = asyncio.ensure_future(read_apart(pid_file, module="reader_waiting"))
    for _ in range(6000):
        if pid_file.exists():
            break
        await asyncio.sleep(0.01)

    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert await is_gone(int(pid_file.read_text()))


async def is_gone(pid: int) -> bool:
    """Wait until a process has ended and nobody need ask for its status any more."""
    for _ in range(6000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        await asyncio.sleep(0.01)
    return False
