"""Measurements by row and column, their medians, and the ratio of the two sides."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Final

OURS: Final = "Doorkeeper"
KAFKA: Final = "Kafka"
KAFKA_EAGER: Final = "Kafka, linger 0"


@dataclass(slots=True, kw_only=True)
class Row:
    """One thing that was measured, at one number of ACLs, on each side.

    ``unit`` is what stands behind the numbers; ``more`` says that more of it is better.
    """

    name: str
    how: str
    acls: int
    unit: str
    more: bool
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, side: str, value: float) -> None:
        """Take a measurement."""
        self.values.setdefault(side, []).append(value)

    def of(self, side: str) -> float | None:
        """Return the median of a side, None where it was not measured."""
        found = self.values.get(side)
        return median(found) if found else None

    def ratio(self, side: str = KAFKA) -> float | None:
        """Return how many times better ours is, None where one side is missing."""
        ours, theirs = self.of(OURS), self.of(side)
        if not ours or not theirs:
            return None
        return ours / theirs if self.more else theirs / ours


class Table:
    """All rows, in the order in which they first came."""

    def __init__(self) -> None:
        """Begin without any."""
        self.rows: dict[tuple[str, str, int], Row] = {}

    def row(self, name: str, how: str, acls: int, unit: str, *, more: bool) -> Row:
        """Return a row, made where there was none."""
        key = (name, how, acls)
        if key not in self.rows:
            self.rows[key] = Row(name=name, how=how, acls=acls, unit=unit, more=more)
        return self.rows[key]

    def find(self, name: str, how: str, acls: int) -> Row | None:
        """Return a row, if it was measured."""
        return self.rows.get((name, how, acls))
