"""Which bindings the history could do without, and which of those are redundant together.

Two bindings that allow the same are each superfluous, and not both. So of all that let a question
through one is kept: the one that is most worth keeping, first a decisive one, then the narrowest
(by principals, names, operations and hosts, in this order), then the most used one. Bindings that
are kept for no question are redundant, all at once: each question still has its keeper. A DENY is
never proposed for removal, because one that has not matched yet may deny an access tomorrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.host_sets import contains
from doorkeeper.acls.index import masks
from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.networks import network_of
from doorkeeper.acls.operations import DENY_TESTS
from doorkeeper.acls.regions import covering_cells, covering_patterns, names_of, region_of
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable
from doorkeeper_pipeline.evaluation.index import Index

KEPT = {"binding": pl.Int32(), "keeper": pl.Int32()}
"""A binding, and one that lets the same through: the keeper, or the next one where it is that."""

NEVER_MATCHED = "NEVER_MATCHED"
NEVER_USED = "NEVER_USED"
COVERED = "COVERED"

_NOTHING = int(np.iinfo(np.int32).max)
_IMPLYING = (
    *(AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER),
    AclOperation.ALTER_CONFIGS,
)
"""Operations whose ALLOW is one to DESCRIBE, or to DESCRIBE_CONFIGS, too."""


class Unused(NamedTuple):
    """A binding, by number, that was never decisive; ``covered_by`` are others for its uses.

    ``closes``: it stays only because a resource would be open to everyone without it.
    """

    binding: int
    reason: str
    covered_by: tuple[int, ...]
    removable: bool
    closes: bool = False


def rank_bindings(bindings: Sequence[AclBinding], totals: pl.DataFrame) -> NDArray[np.int32]:
    """Return for each binding how many are more worth keeping.

    That is by their width and the result of ``usage.sum_uses``.
    """
    size = len(bindings)
    uses = np.zeros(size, np.int64)
    decisive = np.zeros(size, np.bool_)
    numbers = totals.get_column("binding").to_numpy()
    uses[numbers] = totals.get_column("uses").to_numpy()
    decisive[numbers] = totals.get_column("decisive_uses").to_numpy() > 0
    # Of a grant on all names and those on the names that were used, the wide one is redundant.
    widths = np.array([_breadth(binding) for binding in bindings], np.int64).reshape(-1, 4)
    order = np.lexsort((np.arange(size), -uses, *widths.T[::-1], ~decisive))
    ranks = np.empty(size, np.int32)
    ranks[order] = np.arange(size, dtype=np.int32)
    return ranks


def keepers_of(index: Index, ranks: NDArray[np.int32], table: DecisionTable) -> pl.DataFrame:
    """Return which bindings are kept for distinct questions, and the ones that they cover."""
    return table.find(index, lambda block: _keepers_in(index, ranks, block), KEPT)


def unused_bindings(
    bindings: Sequence[AclBinding],
    totals: pl.DataFrame,
    keepers: pl.DataFrame,
    policy: Policy,
) -> list[Unused]:
    """Return all that nothing hung on, in the order of the bindings."""
    counts = totals.select("binding", "uses", "decisive_uses")
    by_number = {row["binding"]: row for row in counts.iter_rows(named=True)}
    keeping: set[int] = set()
    covered: dict[int, set[int]] = {}
    for number, keeper in keepers.iter_rows():
        if number == keeper:
            keeping.add(number)
        else:
            covered.setdefault(number, set()).add(keeper)
    unused = []
    for number, binding in enumerate(bindings):
        row = by_number.get(number)
        if row is not None and row["decisive_uses"]:
            continue
        reason = NEVER_MATCHED if row is None else COVERED if row["uses"] else NEVER_USED
        allows = binding.entry.permission_type is AclPermissionType.ALLOW
        others = tuple(sorted(covered.get(number, ())))
        unused.append(Unused(number, reason, others, allows and number not in keeping))
    going = {candidate.binding for candidate in unused if candidate.removable}
    left = [binding for number, binding in enumerate(bindings) if number not in going]
    staying = closing(left, [bindings[number] for number in going], policy)
    return [
        candidate._replace(removable=False, closes=True)
        if bindings[candidate.binding] in staying
        else candidate
        for candidate in unused
    ]


def closing(
    left: Iterable[AclBinding], going: Iterable[AclBinding], policy: Policy
) -> set[AclBinding]:
    """Return those that must stay after all: without any ACL a resource would be open to all.

    That is so with ``allow.everyone.if.no.acl.found`` only.
    """
    if not policy.allow_everyone:
        return set()
    snapshot = load((str(number), binding) for number, binding in enumerate(left))
    staying: set[AclBinding] = set()
    # Wide patterns first: one that stays closes what lies within it.
    for binding in sorted(going, key=lambda binding: (_width(binding.pattern), binding)):
        if not _is_covered(snapshot, binding.pattern):
            staying.add(binding)
            snapshot = snapshot.with_changes([(f"stays {len(staying)}", binding)])
    return staying


def open_to_all(
    bindings: Iterable[AclBinding], policy: Policy
) -> Callable[[ResourcePattern], bool]:
    """Return a predicate: whether no binding covers a pattern, so that everyone is allowed."""
    snapshot = load((str(number), binding) for number, binding in enumerate(bindings))
    return lambda pattern: policy.allow_everyone and not _is_covered(snapshot, pattern)


def _is_covered(snapshot: Snapshot, pattern: ResourcePattern) -> bool:
    patterns = snapshot.types[pattern.resource_type].patterns
    return next(covering_patterns(patterns, names_of(pattern)), None) is not None


def shut_by_denies(
    bindings: Iterable[AclBinding], *, networks: bool
) -> Callable[[AclBinding], bool]:
    """Return a predicate: whether a DENY refuses all that an ALLOW allows.

    One of DESCRIBE does too: clients ask for it before anything else.
    """
    denies = load(
        (str(number), binding)
        for number, binding in enumerate(bindings)
        if binding.entry.permission_type is AclPermissionType.DENY
    )

    def is_shut(binding: AclBinding) -> bool:
        tests = DENY_TESTS[binding.entry.operation]
        if binding.pattern.resource_type is not ResourceType.CLUSTER:
            tests |= DENY_TESTS[AclOperation.DESCRIBE]
        return any(
            mask & tests and contains(host, binding.entry.host, networks=networks)
            for _, _, cell in covering_cells(denies, region_of(binding))
            for host, mask in masks(cell)
        )

    return is_shut


def _keepers_in(index: Index, ranks: NDArray[np.int32], block: Block) -> pl.DataFrame:
    matches = block.matches
    denies = np.zeros(index.size, np.bool_)
    denies[index.entry_bindings[index.entry_denies]] = True
    allowing = matches.used & ~denies[matches.bindings]
    bindings = matches.bindings[allowing]
    pairs = pl.DataFrame(
        {
            "question": matches.questions[allowing],
            "binding": pl.Series(bindings, dtype=pl.Int32),
            "rank": ranks[bindings],
        }
    )
    best = pl.col("binding").sort_by("rank")
    first = pairs.group_by("question").agg(keeper=best.first(), next=best.get(1, null_on_oob=True))
    covered = pairs.join(first, on="question").select("binding", "keeper")
    others = first.drop_nulls("next").select(binding="keeper", keeper="next")
    return pl.concat([covered, others]).unique()


def _breadth(binding: AclBinding) -> tuple[int, int, int, int]:
    """Return how wide a binding is: by principals, names, operations and hosts."""
    (_, name, pattern_type), entry = binding
    if pattern_type is PatternType.PREFIXED:
        # The shorter a prefix, the more names; all are wider than a literal.
        names = _NOTHING - len(name)
    else:
        names = _NOTHING + 1 if name == WILDCARD else 0
    network = network_of(entry.host)
    hosts = 2 * _NOTHING if entry.host == WILDCARD else 0
    if network is not None:
        hosts = network.bits - network.length
    return (
        int(entry.principal == WILDCARD_PRINCIPAL),
        names,
        _operations(entry.operation),
        hosts,
    )


def _operations(operation: AclOperation) -> int:
    if operation is AclOperation.ALL:
        return len(AclOperation)
    return int(operation is not AclOperation.DESCRIBE) + int(operation in _IMPLYING)


def _width(pattern: ResourcePattern) -> tuple[bool, bool, int]:
    literal = pattern.pattern_type is PatternType.LITERAL
    return pattern.name != "" or literal, pattern.name != WILDCARD or not literal, len(pattern.name)
