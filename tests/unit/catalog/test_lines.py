"""A catalog as lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.catalog.errors import CatalogError, CatalogProblem
from doorkeeper.catalog.lines import (
    LINE_BYTES,
    Unfinished,
    catalog_from,
    lines_of,
    lines_of_problems,
)
from doorkeeper.catalog.loading import Catalog, load
from doorkeeper.runtime.slices import run_to_end
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "catalog.yaml"


def lines(catalog: Catalog) -> list[bytes]:
    return [line.encode() for line in lines_of(catalog)]


def test_a_catalog_comes_back_as_it_was(tmp_path: Path) -> None:
    """Topics with settings, groups with members, texts beyond ASCII, and the mark of the file."""
    file = tmp_path / "c.yaml"
    file.write_text(
        "groups:\n- id: \u00fcbrig\n  members:\n"
        "  - {member_id: m, instance_id: i, client_id: \u20ac, assignment: {a: [0, 7]}}\n",
        encoding="utf-8",
    )
    for catalog in (load(EXAMPLE), load(file)):
        assert run_to_end(catalog_from(lines(catalog), catalog.mark.file)) == catalog


def test_a_large_catalog_is_many_short_lines(tmp_path: Path) -> None:
    """Each is read in a piece of its own; what one row needs is the only excess."""
    file = tmp_path / "c.yaml"
    file.write_text("topics:\n" + "".join(f"- name: topic-{number}\n" for number in range(5000)))
    catalog = load(file)

    told = lines(catalog)

    assert len(told) > 5000 * len('["topic-0",1,1,false,{}]') / LINE_BYTES
    # A row, and the commas.
    assert all(len(line) < LINE_BYTES * 1.1 for line in told)
    assert sum(1 for _ in catalog_from(told, "c.yaml")) == len(told)


def test_problems_come_back() -> None:
    """In their order; there is no catalog then."""
    problems = [
        CatalogProblem("c.yaml", 3, "topics[0].name", "no"),
        CatalogProblem("c.yaml", 0, "", "n\u00f6"),
    ]
    told = [line.encode() for line in lines_of_problems(CatalogError(problems))]

    with pytest.raises(CatalogError) as caught:
        run_to_end(catalog_from(told, "c.yaml"))

    assert caught.value.problems == (problems[1], problems[0])


def test_what_is_cut_off_anywhere_is_no_catalog() -> None:
    """Behind each byte but the last, which is the end of the last line."""
    whole = b"".join(lines(load(EXAMPLE)))

    for size in range(0, len(whole) - 1, 7):
        with pytest.raises(Unfinished):
            run_to_end(catalog_from(whole[:size].splitlines(), "c.yaml"))


@pytest.mark.parametrize("line", [b'["other",1]', b"7", b"[1]", b"[1,2,3]", b"hello"])
def test_what_is_no_line_of_a_catalog_is_refused(line: bytes) -> None:
    """What somebody else wrote to the same output, for example."""
    told = [line, *lines(load(EXAMPLE))]

    with pytest.raises(Unfinished):
        run_to_end(catalog_from(told, "c.yaml"))


def test_nothing_comes_behind_the_end() -> None:
    """Two catalogs are none."""
    told = lines(load(EXAMPLE))

    with pytest.raises(Unfinished):
        run_to_end(catalog_from([*told, told[0]], "c.yaml"))
