"""Ctrl-C in commands."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from doorkeeper.cli.interrupts import (
    INTERRUPTED,
    end_interrupted,
    interruptible,
    require_yes,
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


def test_ctrl_c_ends_a_blocking_call() -> None:
    passed = []

    async def work() -> None:
        with interruptible():
            interrupt()
            passed.append("the signal")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert passed == []


def test_handler_is_restored_after_a_blocking_call() -> None:
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


def test_ctrl_c_and_end_of_input_at_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is told from the end of the input, which is a no; Click treats both alike."""
    monkeypatch.setattr("click.termui.visible_prompt_func", raising(EOFError))
    with pytest.raises(SystemExit):
        require_yes("Apply this plan?")
    monkeypatch.setattr("click.termui.visible_prompt_func", raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        require_yes("Apply this plan?")


def test_ctrl_c_exits_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        end_interrupted("1 of 2 is done")

    assert end.value.code == INTERRUPTED == 130
    assert capsys.readouterr().err == "doorkeeper: interrupted; 1 of 2 is done\n"
