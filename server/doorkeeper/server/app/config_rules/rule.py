"""What a rule is, and the table of all rules.

A rule is declared by ``@rule`` on the function that looks for its fault. What people read of it,
and its examples, are in ``rules.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum, Flag, auto
from typing import Any, Final, NamedTuple, TypeVar

from doorkeeper.base.entry import Problem
from doorkeeper.server.app.config_rules.node import Node


class Severity(Enum):
    """Whether a node starts with the fault.

    An ERROR is what a new node of a new cluster of the release refuses to start with; with a
    WARNING it starts, and does something else than the file seems to say.
    """

    ERROR = "error"
    WARNING = "warning"


class Product(Flag):
    """Whose configuration is checked: that of a broker or controller of Kafka, or Doorkeeper's."""

    KAFKA = auto()
    DOORKEEPER = auto()


ERROR: Final = Severity.ERROR
WARNING: Final = Severity.WARNING
DOORKEEPER: Final = Product.DOORKEEPER
BOTH: Final = Product.KAFKA | Product.DOORKEEPER

ALWAYS: Final = (0, 0)
"""The release of a rule that holds for all releases."""

Looker = TypeVar(
    "Looker",
    Callable[[Node], Iterator[Problem]],
    Callable[[Sequence[Node]], Iterator[Problem]],
)
"""Finds a fault in a node, or by comparing all nodes of a cluster."""


class Rule(NamedTuple):
    """One rule; ``since`` is the first release of Kafka with the fault.

    ``look`` takes a node, or with ``compares`` all nodes of a cluster.
    """

    code: str
    severity: Severity
    products: Product
    since: tuple[int, int]
    look: Callable[[Any], Iterator[Problem]]
    compares: bool

    def applies(self, product: Product, release: tuple[int, int]) -> bool:
        """Return whether the fault exists in a release of a product."""
        is_old = product is Product.KAFKA and release < self.since
        return product in self.products and not is_old


RULES: Final[dict[str, Rule]] = {}
"""All rules by code, once ``doorkeeper.server.app.config_rules.checking`` is imported."""


def rule(
    code: str,
    severity: Severity,
    *,
    products: Product = Product.KAFKA,
    since: tuple[int, int] = ALWAYS,
    compares: bool = False,
) -> Callable[[Looker], Looker]:
    """Declare a rule on the function that yields its problems."""

    def declare(look: Looker) -> Looker:
        assert code not in RULES, code
        RULES[code] = Rule(code, severity, products, since, look, compares)
        return look

    return declare
