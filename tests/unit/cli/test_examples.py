"""``doorkeeper examples``: what is installed beside the modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.sample_files import EXAMPLES, files_of
from testkit.checkout import ROOT, name_of, tracked_files

if TYPE_CHECKING:
    from pathlib import Path


def examples(*words: object) -> tuple[int, str, str]:
    """Run the command; return status, output and errors."""
    result = CliRunner().invoke(doorkeeper, ["examples", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("name", [next(iter(EXAMPLES)), "teams", "schemas"])
def test_example_is_copied_as_listed(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "new" / name
    _, listed, _ = examples("list", name)

    status, out, _ = examples("copy", name, folder)

    assert status == 0
    paths = listed.splitlines()
    assert out.splitlines() == [str(folder / path) for path in paths]
    originals = {path: source.read_bytes() for path, source in files_of(EXAMPLES[name])}
    assert {path: (folder / path).read_bytes() for path in paths} == originals


def test_every_example_file_can_be_copied() -> None:
    named = {path for example in EXAMPLES.values() for path in example.paths}
    files = [name_of(path) for path in tracked_files() if name_of(path).startswith("examples/")]

    unnamed = [file for file in files if not any(file.startswith(path) for path in named)]

    assert unnamed == ["examples/frames.hex"]  # of a page alone
    assert all((ROOT / path).exists() for path in named)
