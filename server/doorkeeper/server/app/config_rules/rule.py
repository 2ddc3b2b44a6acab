"""What a rule is, and the table of all rules.

A rule is declared once, by ``@rule`` on the function that looks for its fault. The declaration has
its code, severity, texts and examples, from which the page and the tests are made.

An ERROR is what a new node of a new cluster of the release refuses to start with; with a WARNING it
starts, and does something else than the file seems to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict, Unpack

from doorkeeper.server.app.config_rules.findings import Hit, Product, Severity

if TYPE_CHECKING:
    from doorkeeper.server.app.config_rules.node import Node


ERROR: Final = Severity.ERROR
WARNING: Final = Severity.WARNING


KAFKA: Final = frozenset({Product.KAFKA})
DOORKEEPER: Final = frozenset({Product.DOORKEEPER})
BOTH: Final = KAFKA | DOORKEEPER

ALWAYS: Final = (0, 0)
"""The release of a rule that holds for all releases."""


Looker = Callable[["Node"], Iterator[Hit]]
ClusterLooker = Callable[[Sequence["Node"]], Iterator[Hit]]


class Rule(NamedTuple):
    """One rule. ``wrong`` and ``right`` are examples: text by file name; see ``examples``.

    ``look`` finds the fault in a node, ``compare`` in all nodes of a cluster; one of them is set.
    ``since`` is the first release of Kafka with the fault, ``until`` the first without it.
    """

    code: str
    severity: Severity
    title: str
    why: str
    wrong: Mapping[str, str]
    right: Mapping[str, str]
    products: frozenset[Product] = KAFKA
    since: tuple[int, int] = ALWAYS
    until: tuple[int, int] | None = None
    look: Looker | None = None
    compare: ClusterLooker | None = None

    def applies(self, product: Product, release: tuple[int, int]) -> bool:
        """Return whether the fault exists in a release of a product."""
        if product is Product.DOORKEEPER:
            return product in self.products
        ended = self.until is not None and release >= self.until
        return product in self.products and release >= self.since and not ended


RULES: Final[dict[str, Rule]] = {}
"""All rules by code, once ``doorkeeper.server.app.config_rules.checking`` is imported."""

PROPERTIES: Final = "server.properties"
"""The file name of an example that is a single text."""

Example = str | Mapping[str, str]


def _files(example: Example) -> Mapping[str, str]:
    return {PROPERTIES: example} if isinstance(example, str) else example


class Options(TypedDict, total=False):
    """What most rules do not have: see ``Rule``."""

    products: frozenset[Product]
    since: tuple[int, int]
    until: tuple[int, int] | None


def rule(
    code: str,
    severity: Severity,
    title: str,
    why: str,
    *,
    wrong: Example,
    right: Example,
    **options: Unpack[Options],
) -> Callable[[Looker], Looker]:
    """Declare a rule on the function that yields its hits in a node."""

    def declare(look: Looker) -> Looker:
        examples = _files(wrong), _files(right)
        _add(Rule(code, severity, title, why, *examples, look=look, **options))
        return look

    return declare


def _add(rule: Rule) -> None:
    assert rule.code not in RULES, rule.code
    RULES[rule.code] = rule


def cluster_rule(
    code: str, title: str, why: str, *, wrong: Mapping[str, str], right: Mapping[str, str]
) -> Callable[[ClusterLooker], ClusterLooker]:
    """Declare a rule on the function that compares the nodes of a cluster: a warning."""

    def declare(compare: ClusterLooker) -> ClusterLooker:
        _add(Rule(code, WARNING, title, why, wrong, right, compare=compare))
        return compare

    return declare
