"""What the conformance suite compared in a run: totals, and the accepted differences it met."""

from collections import Counter
from collections.abc import Iterator

import pytest


class Totals:
    """Counts by name, in the order in which the names came up."""

    def __init__(self) -> None:
        self.compared: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()

    def lines(self) -> Iterator[str]:
        """Yield one line for each count."""
        for name, count in self.compared.items():
            yield f"{count:>10,}  {name}"
        yield f"{len(self.accepted):>10,}  accepted differences met"
        for name, count in sorted(self.accepted.items()):
            yield f"{count:>10,}    {name}"


TOTALS = pytest.StashKey[Totals]()
"""Where pytest's configuration keeps the totals of a run."""
