"""Which event loop runs."""

from __future__ import annotations

import pytest

from doorkeeper.net import loops


def kind_of(loop: str) -> str:
    with loops.new_runner(loop) as runner:
        return type(runner.get_loop()).__module__.partition(".")[0]


def test_auto_takes_uvloop_where_it_is() -> None:
    """uvloop is taken if it is installed, and each kind can be asked for."""
    assert (kind_of("auto"), kind_of("uvloop"), kind_of("asyncio")) == (
        "uvloop",
        "uvloop",
        "asyncio",
    )


def test_auto_falls_back_to_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without uvloop the loop is asyncio's own."""
    monkeypatch.setattr(loops, "find_spec", lambda name: None)

    assert kind_of("auto") == "asyncio"


def test_an_unknown_loop_is_named() -> None:
    """The error says what may be asked for."""
    with pytest.raises(ValueError, match="event loop trio: one of auto, uvloop, asyncio"):
        loops.new_runner("trio")
