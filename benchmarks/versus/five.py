"""The five numbers that matter to who chooses a server, as the README shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from versus.page import number
from versus.table import KAFKA, OURS

if TYPE_CHECKING:
    from versus.table import Table

BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
PATIENT = "p99 of a small request beside full descriptions"


class Told(NamedTuple):
    """A row of the table, and what it is to a user."""

    text: str
    row: str
    how: str
    acls: int


FIVE = (
    Told("Start until the first answer", "start to first answer", "", 0),
    Told("Memory with 100,000 ACLs", "memory, just started", "", 100_000),
    Told(
        "The ACLs of one principal among 100,000, right after a change",
        "DescribeAcls, one principal",
        "after each change",
        100_000,
    ),
    Told(
        "ACLs created one by one, durable, among 100,000",
        "CreateAcls of 1",
        "1 connection",
        100_000,
    ),
    Told("p99 of a small request while others list 100,000 ACLs", PATIENT, "1 x 1", 100_000),
)


def five(table: Table) -> list[str] | None:
    """Return them as lines of Markdown; None if the run has not measured all, on both sides."""
    lines = ["| | Doorkeeper | Kafka | |", "|---|---|---|---|"]
    for each in FIVE:
        row = table.find(each.row, each.how, each.acls)
        ratio = None if row is None else row.ratio(KAFKA)
        if row is None or ratio is None:
            return None
        sides = [f"{number(row.of(side))} {row.unit}" for side in (OURS, KAFKA)]
        lines.append(f"| {each.text} | {sides[0]} | {sides[1]} | {number(ratio)}x |")
    return lines


def inserted(readme: str, table: Table) -> str:
    """Return the README with the numbers of this run; as it was, if they are not complete.

    Raises:
        ValueError: the README has no place for them.

    """
    lines = five(table)
    if lines is None:
        return readme
    before, found, rest = readme.partition(BEGIN)
    _, ended, behind = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"README.md has no {BEGIN.strip()} and {END.strip()}")
    return before + BEGIN + "\n".join(lines) + "\n" + END + behind
