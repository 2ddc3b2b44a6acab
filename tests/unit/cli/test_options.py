"""Options that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.cli.options import load_or_fail

if TYPE_CHECKING:
    from pathlib import Path


def test_a_right_file_is_loaded(tmp_path: Path) -> None:
    """Overrides come last."""
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\n")

    assert load_or_fail(file, ["num.partitions=3"]).settings.num_partitions == 3


def test_a_wrong_file_ends_the_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every error is a line."""
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=x\ndelete.topic.enable=x\n")

    with pytest.raises(SystemExit):
        load_or_fail(file, ())

    assert capsys.readouterr().err.count("\n") == 2
