"""Faults of a catalog.

CatalogError    every fault, in the order of the file
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class CatalogProblem(NamedTuple):
    """A fault at a path such as ``topics[2].name``. ``line`` 0 is the whole file."""

    file: str
    line: int
    path: str
    text: str

    def __str__(self) -> str:
        """Return ``file:line: path: text``."""
        source = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (source, self.path, self.text) if part)


class CatalogError(Exception):
    """The file is not a valid catalog."""

    def __init__(self, problems: Sequence[CatalogProblem]) -> None:
        """The faults are sorted by line."""
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(map(str, self.problems)))
