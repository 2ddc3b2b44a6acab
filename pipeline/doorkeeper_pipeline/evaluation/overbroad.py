"""Bindings that allow far more than was used of them, and narrower ones instead.

    ALL_NAMES       the literal "*", and the history has names that were not used through it
    PREFIX          a prefix, likewise
    ALL_PRINCIPALS  User:*, and the history has principals that never used it
    ALL_OPERATIONS  ALL, and not every operation of the type was used
    ALL_HOSTS       every host, and it was used from one; told beside the others, never alone:
                    nearly all ACLs are for every host

Only an ALLOW that was used is looked at: one that was not is unused, and a DENY may be as wide as
it likes. The accesses through it are known exactly, so that the replacement allows no
combination that did not occur.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper.acls.privileges import Need
from doorkeeper_pipeline.bindings import FIELDS
from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.literals import is_grantable, literal_grants
from doorkeeper_pipeline.evaluation.needs import NEEDS

INSTEAD_MAX = 100
"""How many bindings may stand for one: more are no replacement; least privilege has them all."""

TOUCHES = {"binding": pl.Int32(), **NEEDS}
"""An access through a binding: its number, and the columns of a need, with the client's host."""


_TOUCHED = {
    "principal": "touched_principals",
    "host": "touched_hosts",
    "operation": "touched_operations",
    "resource_name": "touched_resources",
}


class Excess(NamedTuple):
    """The bindings that are too wide, in their order.

    Attributes:
        grants: Their number in ``binding``, the reasons in ``excess``, their uses, all values that
            were used in ``touched_principals``, ``touched_hosts``, ``touched_operations`` and
            ``touched_resources``, and in ``covered_resource_count`` how many names of the history
            each covers.
        instead: For each number in ``binding`` the fields of the bindings that would do instead;
            none where there would be more than ``INSTEAD_MAX``, or where no ACL can say it.

    """

    grants: pl.DataFrame
    instead: pl.DataFrame


class History(NamedTuple):
    """The names by type, sorted, and the principals of a history, allowed or not."""

    names: Mapping[ResourceType, Sequence[str]]
    principals: int

    def covered_count(self, binding: AclBinding) -> int:
        """Return how many names a binding's pattern covers."""
        (resource_type, name, pattern_type), _ = binding
        names = self.names.get(resource_type, ())
        if pattern_type is PatternType.PREFIXED:
            return _beginning(names, name)
        at = bisect_left(names, name)
        is_there = int(name in names[at : at + 1])
        if name == WILDCARD:
            return len(names) - _beginning(names, WILDCARD) + is_there
        return is_there


def _beginning(names: Sequence[str], prefix: str) -> int:
    """Return how many names begin so; names with one prefix are adjacent."""
    begin = bisect_left(names, prefix)
    # Cut to the length of the prefix, sorted names are sorted.
    return bisect_right(names, prefix, begin, key=lambda name: name[: len(prefix)]) - begin


def wide(bindings: Sequence[AclBinding]) -> NDArray[np.bool_]:
    """Return which bindings may be too wide: by a wildcard, a prefix, ``User:*`` or ALL."""
    return np.array([_may_be_wide(binding) for binding in bindings], np.bool_)


def touches_of(index: Index, candidates: NDArray[np.bool_], table: DecisionTable) -> pl.DataFrame:
    """Return the accesses through bindings that may be too wide, not added."""
    return table.find(index, lambda block: _touches_in(candidates, block), TOUCHES)


def overbroad(bindings: Sequence[AclBinding], touches: pl.DataFrame, history: History) -> Excess:
    """Return the bindings that are too wide, and their replacements."""
    touched = (
        touches.group_by("binding")
        .agg(
            pl.col("count").sum().alias("uses"),
            *(pl.col(column).unique().sort().alias(name) for column, name in _TOUCHED.items()),
        )
        .sort("binding")
    )
    numbers = touched.select(
        "binding",
        "touched_operations",
        pl.col("touched_principals", "touched_hosts", "touched_resources").list.len(),
    )
    excess, covered = [], []
    for row in numbers.iter_rows(named=True):
        binding = bindings[row["binding"]]
        covered.append(history.covered_count(binding))
        reasons = tuple(_excess(binding, row, covered[-1], history.principals))
        excess.append([] if reasons == ("ALL_HOSTS",) else list(reasons))
    grants = touched.with_columns(
        pl.Series("excess", excess, pl.List(pl.String)),
        pl.Series("covered_resource_count", covered, pl.Int64),
    ).filter(pl.col("excess").list.len() > 0)
    # Of too many names no list is made: each name makes one grant at least.
    listed = grants.filter(pl.col("touched_resources").list.len() <= INSTEAD_MAX)
    return Excess(grants, _instead(bindings, touches.join(listed, on="binding", how="semi")))


def need_of(row: Sequence[Any]) -> Need:
    """Return a need of a row of the table of needs."""
    principal, host, resource_type, name, operation, *rest = row
    return Need(principal, host, ResourceType[resource_type], name, AclOperation[operation], *rest)


def _excess(
    binding: AclBinding, touched: Mapping[str, Any], covered: int, principals: int
) -> Iterable[str]:
    (resource_type, name, pattern_type), entry = binding
    if touched["touched_resources"] < covered:
        if pattern_type is PatternType.PREFIXED:
            yield "PREFIX"
        elif name == WILDCARD:
            yield "ALL_NAMES"
    if entry.principal == WILDCARD_PRINCIPAL and touched["touched_principals"] < principals:
        yield "ALL_PRINCIPALS"
    if entry.host == WILDCARD and touched["touched_hosts"] == 1:
        yield "ALL_HOSTS"
    supported = {operation.name for operation in SUPPORTED_OPERATIONS.get(resource_type, ())}
    if entry.operation is AclOperation.ALL and supported - set(touched["touched_operations"]):
        yield "ALL_OPERATIONS"


def _instead(bindings: Sequence[AclBinding], touches: pl.DataFrame) -> pl.DataFrame:
    """Return bindings that allow only the used accesses, for the hosts of the binding."""
    hosts = {number: bindings[number].entry.host for number in touches["binding"].unique()}
    host = pl.col("binding").replace_strict(hosts, return_dtype=pl.String)
    touches = touches.with_columns(host.alias("host"))
    unsaid = touches.filter(~is_grantable(touches))
    grants = literal_grants(touches, ["binding"]).join(unsaid, on="binding", how="anti")
    few = grants.group_by("binding").len().filter(pl.col("len") <= INSTEAD_MAX)
    return grants.join(few, on="binding", how="semi", maintain_order="left").select(
        "binding", *FIELDS
    )


def _may_be_wide(binding: AclBinding) -> bool:
    (_, name, pattern_type), entry = binding
    return entry.permission_type is AclPermissionType.ALLOW and (
        pattern_type is PatternType.PREFIXED
        or name == WILDCARD
        or entry.principal == WILDCARD_PRINCIPAL
        or entry.operation is AclOperation.ALL
    )


def _touches_in(candidates: NDArray[np.bool_], block: Block) -> pl.DataFrame:
    matches = block.matches
    which = np.flatnonzero(matches.used & candidates[matches.bindings])
    rows = block.rows[matches.questions[which]]
    return rows.with_columns(pl.Series("binding", matches.bindings[which], pl.Int32))
