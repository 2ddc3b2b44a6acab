"""How old the process is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.runtime.process_age import process_age_ms

if TYPE_CHECKING:
    from pathlib import Path


def test_a_command_may_hold_anything(tmp_path: Path) -> None:
    """Brackets and spaces in the command do not shift the fields."""
    stat = tmp_path / "stat"
    stat.write_text("7 (a) b (c)) S " + " ".join(["0"] * 18) + " 100 0 0")

    # Started one second after the machine: as old as the machine, but for a second.
    assert process_age_ms(stat) > 0


def test_without_proc_the_import_counts(tmp_path: Path) -> None:
    """Where the system keeps no such record, the age is the one of the module."""
    assert process_age_ms(tmp_path / "none") >= 0
    (tmp_path / "short").write_text("7 (x) S")
    assert process_age_ms(tmp_path / "short") >= 0
