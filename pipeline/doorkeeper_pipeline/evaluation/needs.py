"""Needs: the allowed accesses of each principal, on which every proposal is based.

A need is (principal, host, operation, resource type, name). Its host is ``*`` where a binding for
every host let it through, else the network of the binding that did, and the asking address where
only bindings for that address did: a proposal is never wider than what is in force, and clients in
a network have other addresses tomorrow. Accesses of super users need no binding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from doorkeeper.acls.decision import RuleKind
from doorkeeper.acls.model import WILDCARD, AclBinding
from doorkeeper.acls.networks import network_of
from doorkeeper_pipeline.evaluation.deciding import NO_BINDING, RULES
from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable, accesses
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.questions import COUNTS, SUMMED

NEED = ("principal", "host", "resource_type", "resource_name", "operation")
"""The columns of a need, in the order in which needs are sorted."""

NEEDS = {**dict.fromkeys(NEED, pl.String()), **COUNTS}


_ADDRESS = 1_000
"""In place of the length of a network: an address is narrower than any of them."""


class Grants(NamedTuple):
    """An index, the hosts of its bindings, which are ``*``, and the lengths of networks."""

    acls: Index
    hosts: tuple[str, ...]
    any_host: NDArray[np.bool_]
    lengths: NDArray[np.int16]


def grants_of(index: Index, bindings: Sequence[AclBinding]) -> Grants:
    """Return the input of ``needs_of`` for the bindings of which the index was compiled."""
    hosts = tuple(binding.entry.host for binding in bindings)
    networks = map(network_of, hosts)
    return Grants(
        index,
        hosts,
        np.array([host == WILDCARD for host in hosts], np.bool_),
        np.array([_ADDRESS if each is None else each.length for each in networks], np.int16),
    )


def needs_of(grants: Grants, table: DecisionTable) -> pl.DataFrame:
    """Return the needs of distinct questions under a set of ACLs, not yet added."""
    return table.find(grants.acls, lambda block: _needs_in(grants, block), NEEDS)


def logged_needs(super_users: frozenset[str], table: DecisionTable) -> pl.DataFrame:
    """Return the needs by the recorded outcomes, if no set of ACLs is known.

    The table has ``outcome`` too. The hosts of the bindings are unknown, so all needs are for
    ``*``.
    """
    is_super = pl.col("principal").is_in(sorted(super_users))
    rows = table.rows.filter(accesses(table.rows)).filter(pl.col("outcome") == "ALLOWED", ~is_super)
    return rows.with_columns(host=pl.lit(WILDCARD)).select(list(NEEDS))


def sum_needs(parts: pl.DataFrame) -> pl.DataFrame:
    """Return needs each once, sorted, with counts summed and the first and the last time."""
    return parts.group_by(NEED).agg(SUMMED).sort(NEED)


def kept_for(index: Index, needs: DecisionTable) -> pl.Series:
    """Return for each need the first ALLOW of a set that lets it through as `binding`, or null."""
    first = np.full(len(needs.rows), index.size, np.int32)
    begin = 0
    for block in needs.evaluate(index).blocks():
        np.minimum.at(first, begin + block.matches.questions, block.matches.bindings)
        begin += block.questions.size
    return pl.Series("binding", first).replace(index.size, None)


def _needs_in(grants: Grants, block: Block) -> pl.DataFrame:
    decided, matches = block.decisions, block.matches
    needing = decided.allowed & (decided.rules != RULES.index(RuleKind.SUPER_USER))
    # What everybody may do by default is for every host, as is what a binding for all hosts allows.
    everywhere = decided.rules == RULES.index(RuleKind.DEFAULT_ALLOW)
    asking, through = matches.questions[matches.used], matches.bindings[matches.used]
    everywhere[asking[grants.any_host[through]]] = True
    host = (
        pl.when(pl.Series(everywhere))
        .then(pl.lit(WILDCARD))
        .otherwise(pl.coalesce(_networks(grants, asking, through, len(everywhere)), "host"))
    )
    return block.rows.with_columns(host.alias("host")).filter(pl.Series(needing))


def _networks(
    grants: Grants, asking: NDArray[np.int64], through: NDArray[np.int32], size: int
) -> pl.Series:
    """Return the narrowest network that let each question through; null where an address did."""
    lengths = grants.lengths[through]
    if (lengths == _ADDRESS).all():
        return pl.Series([None], dtype=pl.String).new_from_index(0, size)
    # Of several values for one question the last is assigned.
    order = np.argsort(lengths, kind="stable")
    narrowest = np.full(size, NO_BINDING, np.int32)
    narrowest[asking[order]] = through[order]
    in_network = (narrowest != NO_BINDING) & (grants.lengths[narrowest] < _ADDRESS)
    numbers = pl.Series(np.where(in_network, narrowest, NO_BINDING)).replace(NO_BINDING, None)
    return pl.Series(grants.hosts, dtype=pl.String).gather(numbers)
