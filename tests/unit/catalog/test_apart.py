"""The process that reads a large catalog."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doorkeeper.catalog.apart import NICENESS
from doorkeeper.catalog.errors import CatalogError
from doorkeeper.catalog.lines import catalog_from
from doorkeeper.catalog.loading import load
from doorkeeper.runtime.slices import run_to_end
from testkit.checkout import ROOT


def told(file: Path) -> list[bytes]:
    """Return what the process writes."""
    command = [sys.executable, "-m", "doorkeeper.catalog.apart", str(file)]
    return subprocess.run(command, check=True, capture_output=True).stdout.splitlines()


def test_it_tells_what_a_file_declares() -> None:
    """As it would be read in this process, with the file's digest."""
    file = ROOT / "examples" / "catalog.yaml"

    assert run_to_end(catalog_from(told(file), str(file))) == load(file)


@pytest.mark.parametrize("text", [None, "topics:\n- name: 'a b'\n- partitions: 1\n"])
def test_it_tells_what_is_wrong_with_a_file(tmp_path: Path, text: str | None) -> None:
    """All faults, with the file and the line; and ends well."""
    file = tmp_path / "c.yaml"
    if text is not None:
        file.write_text(text)

    with pytest.raises(CatalogError) as caught:
        run_to_end(catalog_from(told(file), str(file)))

    places = [str(each).removeprefix(str(file))[:2] for each in caught.value.problems]
    assert places == ([": "] if text is None else [":2", ":3"])


def test_it_gives_way_to_the_server() -> None:
    """It leaves the processor to others, and is the first to end where memory does."""
    ask = (
        "import os, pathlib; from doorkeeper.catalog.apart import give_way; give_way();"
        "print(os.nice(0), pathlib.Path('/proc/self/oom_score_adj').read_text())"
    )
    if not Path("/proc/self/oom_score_adj").exists():
        pytest.skip("no such thing on this system")
    output = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True).stdout

    assert output.split() == [str(min(os.nice(0) + NICENESS, 19)).encode(), b"1000"]
