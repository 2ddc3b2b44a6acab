"""Ctrl-C in commands."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from doorkeeper.cli.interrupts import (
    INTERRUPTED,
    confirm,
    end_interrupted,
    interruptible,
)
from testkit.interrupts import pythons_own_handler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def begun() -> Iterator[None]:
    with pythons_own_handler():
        yield


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_ends_what_blocks_in_a_loop() -> None:
    """The loop would wait for its task, and the task for its input."""
    passed = []

    async def work() -> None:
        with interruptible():
            interrupt()
            passed.append("the signal")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert passed == []


def test_afterwards_the_loop_has_its_handler_again() -> None:
    """What does not block is cancelled, and closes what it has opened."""
    closed = []

    async def work() -> None:
        with interruptible():
            pass
        try:
            interrupt()
            await asyncio.Event().wait()
        finally:
            closed.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert closed == ["all of it"]


def raising(error: type[BaseException]) -> Callable[[str], str]:
    def ask(_prompt: str) -> str:
        raise error

    return ask


def test_what_ends_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is told from the end of the input, which is a no; Click treats both alike."""
    monkeypatch.setattr("click.termui.visible_prompt_func", raising(EOFError))
    assert not confirm("Apply this plan?")
    monkeypatch.setattr("click.termui.visible_prompt_func", raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        confirm("Apply this plan?")


def test_it_ends_with_the_status_of_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    """And a line that says what is done."""
    with pytest.raises(SystemExit) as end:
        end_interrupted("1 of 2 is done")

    assert end.value.code == INTERRUPTED == 130
    assert capsys.readouterr().err == "doorkeeper: interrupted; 1 of 2 is done\n"
