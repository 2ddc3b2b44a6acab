"""Reading a large catalog in a process of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.slices import run_to_end
from doorkeeper.server.resources.catalog.errors import CatalogError
from doorkeeper.server.resources.catalog.lines import (
    LINE_BYTES,
    catalog_from,
    lines_of,
    lines_of_problems,
)
from doorkeeper.server.resources.catalog.loading import load
from doorkeeper.server.resources.catalog.process import read_apart
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "catalog.yaml"
READERS = {
    "killed": ("import os\nos.kill(os.getpid(), 9)\n", "was ended by SIGKILL"),
    "silent": ("", "wrote invalid output: there is no end"),
    "talking": ("print('hello')\n", "wrote invalid output: a line is not a pair: "),
    "going on": ('print(\'["end",""]\\n[1,2]\')', "wrote invalid output: there is text after"),
    "strange": ("print('[\"x\",1]')", "wrote invalid output: there is 'x'"),
    "slow": ("import time\ntime.sleep(600)\n", "took longer than 0.05 s"),
}


async def test_a_catalog_is_read_as_in_this_process() -> None:
    """From the bytes to the groups."""
    assert await read_apart(EXAMPLE) == load(EXAMPLE)


@pytest.mark.parametrize("name", READERS)
async def test_a_process_that_fails_is_a_problem_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Killed, failing, silent, with something else to say, or endless: there is no catalog."""
    text, told = READERS[name]
    (tmp_path / f"reader_{name}.py").write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    most_s = 0.05 if name == "slow" else 60

    with pytest.raises(CatalogError) as caught:
        await read_apart(EXAMPLE, most_s=most_s, module=f"reader_{name}")

    (problem,) = caught.value.problems
    assert str(problem).startswith(f"{EXAMPLE}: the process that reads it {told}")


def test_a_large_catalog_is_many_short_lines(tmp_path: Path) -> None:
    """Each is read in a piece of its own; together they are the catalog, or all its problems."""
    file = tmp_path / "c.yaml"
    file.write_text("topics:\n" + "".join(f"- {{name: a{number:0240}}}\n" for number in range(200)))
    lines = [line.encode() for line in lines_of(load(file))]

    assert len(lines) > 2
    assert all(len(line) < 1.1 * LINE_BYTES for line in lines)
    assert run_to_end(catalog_from(lines, str(file))) == load(file)
    file.write_text("topics: [{}, {name: a b}]\n")
    with pytest.raises(CatalogError) as here:
        load(file)
    with pytest.raises(CatalogError) as there:
        run_to_end(catalog_from(map(str.encode, lines_of_problems(here.value)), str(file)))
    assert there.value.problems == here.value.problems
