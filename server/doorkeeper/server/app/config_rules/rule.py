"""What a rule is, and the table of all rules.

A rule is declared by ``@rule`` on the function that looks for its fault. What people read of it,
and its examples, are in ``rules.toml``.

An ERROR is what a new node of a new cluster of the release refuses to start with; with a WARNING it
starts, and does something else than the file seems to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from doorkeeper.base.entry import Problem
from doorkeeper.server.app.config_rules.findings import Product, Severity
from doorkeeper.server.app.config_rules.node import Node

ERROR: Final = Severity.ERROR
WARNING: Final = Severity.WARNING

KAFKA: Final = frozenset({Product.KAFKA})
DOORKEEPER: Final = frozenset({Product.DOORKEEPER})
BOTH: Final = KAFKA | DOORKEEPER

ALWAYS: Final = (0, 0)
"""The release of a rule that holds for all releases."""

Looker = Callable[["Node"], Iterator[Problem]]
ClusterLooker = Callable[[Sequence["Node"]], Iterator[Problem]]


class Rule(NamedTuple):
    """One rule; ``since`` is the first release of Kafka with the fault.

    ``look`` finds the fault in a node, ``compare`` in all nodes of a cluster; one of them is set.
    """

    code: str
    severity: Severity
    products: frozenset[Product] = KAFKA
    since: tuple[int, int] = ALWAYS
    look: Looker | None = None
    compare: ClusterLooker | None = None

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
    products: frozenset[Product] = KAFKA,
    since: tuple[int, int] = ALWAYS,
) -> Callable[[Looker], Looker]:
    """Declare a rule on the function that yields its problems in a node."""

    def declare(look: Looker) -> Looker:
        _add(Rule(code, severity, products, since, look=look))
        return look

    return declare


def _add(rule: Rule) -> None:
    assert rule.code not in RULES, rule.code
    RULES[rule.code] = rule


def cluster_rule(code: str) -> Callable[[ClusterLooker], ClusterLooker]:
    """Declare a rule on the function that compares the nodes of a cluster: a warning."""

    def declare(compare: ClusterLooker) -> ClusterLooker:
        _add(Rule(code, WARNING, compare=compare))
        return compare

    return declare
