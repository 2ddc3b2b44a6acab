"""The five numbers of the README, and that they are those of the results."""

from __future__ import annotations

from pathlib import Path

import pytest

from versus.five import BEGIN, END, FIVE, five, inserted
from versus.table import KAFKA, OURS, Table

ROOT = Path(__file__).parents[3]
OLD = f"before\n{BEGIN}| old |\n{END}behind\n"


def complete() -> Table:
    table = Table()
    for each in FIVE:
        row = table.row(each.row, each.how, each.acls, "us", more=False)
        row.add(OURS, 20.0)
        row.add(KAFKA, 50.0)
    return table


def test_a_run_that_measured_all_replaces_what_the_readme_had() -> None:
    """Each with its unit and ratio; what stands around is kept."""
    text = inserted(OLD, complete())

    assert text.startswith(f"before\n{BEGIN}| | Doorkeeper | Kafka | |\n")
    assert text.endswith(f"{END}behind\n")
    assert text.count("| 20.0 us | 50.0 us | 2.50x |\n") == len(FIVE) == 5
    assert "old" not in text


def test_a_run_without_a_broker_leaves_the_readme_as_it_was() -> None:
    """Half a table would mislead."""
    table = complete()
    table.rows[FIVE[3].row, FIVE[3].how, FIVE[3].acls].values.pop(KAFKA)

    assert five(table) is None
    assert inserted(OLD, table) == OLD


def test_a_readme_without_a_place_is_told() -> None:
    """Nothing is appended somewhere."""
    with pytest.raises(ValueError, match="measured: begin"):
        inserted("no place\n", complete())


def test_the_readme_shows_what_the_results_have() -> None:
    """Nobody has changed one of them by hand."""
    _, _, rest = (ROOT / "README.md").read_text().partition(BEGIN)
    lines = rest.partition(END)[0].splitlines()[2:]
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text().splitlines()

    assert len(lines) == len(FIVE)
    for each, line in zip(FIVE, lines, strict=True):
        acls = f"{each.acls:,}" if each.acls else ""
        (row,) = (one for one in results if one.startswith(f"| {each.row} | {each.how} | {acls} |"))
        unit, ours, kafka, ratio = (cell.strip() for cell in row.split("|")[4:8])
        assert line == f"| {each.text} | {ours} {unit} | {kafka} {unit} | {ratio} |"
