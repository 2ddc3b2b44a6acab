"""The catalog of a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.app.catalogs import catalog_of
from doorkeeper.app.errors import StartError

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


def test_every_fault_is_a_problem(tmp_path: Path) -> None:
    """A file with two faults stops the start with two lines, each with the file's name."""
    file = tmp_path / "catalog.yaml"
    file.write_text("topics:\n- name: 'a b'\n- name: 'c d'\n")

    with pytest.raises(StartError) as caught:
        catalog_of(file)

    assert len(caught.value.problems) == 2
    assert all(problem.startswith(f"{file}:") for problem in caught.value.problems)
