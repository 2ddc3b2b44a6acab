"""The catalog of a configuration."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from doorkeeper.construction.catalogs import catalog_of
from doorkeeper.construction.errors import StartError

if TYPE_CHECKING:
    from pathlib import Path


def test_no_file_no_catalog() -> None:
    """Where no file is configured there is nothing to declare."""
    assert catalog_of(None) is None


def test_a_file_declares(tmp_path: Path) -> None:
    """The catalog of a file has its topics."""
    file = tmp_path / "catalog.yaml"
    file.write_text("topics:\n- name: orders\n")

    catalog = catalog_of(file)

    assert catalog is not None
    assert [topic.name for topic in catalog.topics] == ["orders"]


def test_no_garbage_is_looked_for_in_a_large_file(tmp_path: Path) -> None:
    """All that is read lives until the end; afterwards it is looked for as before."""
    file = tmp_path / "catalog.yaml"
    file.write_text("topics:\n" + "".join(f"- name: topic-{number}\n" for number in range(2000)))
    catalog_of(file)  # what it imports is there now
    collections: list[str] = []

    def note(phase: str, _info: object) -> None:
        collections.append(phase)

    gc.collect()
    gc.callbacks.append(note)
    try:
        catalog_of(file)
    finally:
        gc.callbacks.remove(note)

    # One is due when it may look again.
    assert collections.count("start") <= 1
    assert gc.isenabled()


def test_every_fault_is_a_problem(tmp_path: Path) -> None:
    """A file with two faults stops the start with two lines, each with the file's name."""
    file = tmp_path / "catalog.yaml"
    file.write_text("topics:\n- name: 'a b'\n- name: 'c d'\n")

    with pytest.raises(StartError) as caught:
        catalog_of(file)

    assert len(caught.value.problems) == 2
    assert all(problem.startswith(f"{file}:") for problem in caught.value.problems)
