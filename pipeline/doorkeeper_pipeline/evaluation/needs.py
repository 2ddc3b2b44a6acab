"""Needs: the allowed accesses of each principal, on which every proposal is based.

A need is (principal, host, operation, resource type, name). Its host is ``*`` where a binding for
every host let it through, else the network of the binding that did, and the asking address where
only bindings for that address did: a proposal is never wider than what is in force, and clients in
a network have other addresses tomorrow. Accesses of super users need no binding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from doorkeeper.acls.decision import RuleKind
from doorkeeper.acls.model import WILDCARD
from doorkeeper.acls.networks import network_of
from doorkeeper_pipeline.evaluation.deciding import NO_BINDING, RULES
from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable, accesses
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.questions import COUNTS, SUMMED

NEED = ("principal", "host", "resource_type", "resource_name", "operation")
"""The columns of a need, in the order in which needs are sorted."""

NEEDS = {**dict.fromkeys(NEED, pl.String()), **COUNTS}


_ADDRESS, _ANY_HOST = 1_000, 2_000
"""In place of the length of a network: an address is narrower than any; ``*`` goes before all."""


def needs_of(index: Index, hosts: Sequence[str], table: DecisionTable) -> pl.DataFrame:
    """Return the needs of distinct questions under a set of ACLs, not yet added.

    ``hosts`` are those of the bindings of which the index was compiled.
    """
    by_host = {host: _rank(host) for host in set(hosts)}
    ranks = np.array([by_host[host] for host in hosts], np.int16)
    wide = pl.Series(
        [None if by_host[host] == _ADDRESS else host for host in hosts], dtype=pl.String
    )
    return table.find(index, lambda block: _needs_in(wide, ranks, block), NEEDS)


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


def _rank(host: str) -> int:
    network = network_of(host)
    return _ANY_HOST if host == WILDCARD else _ADDRESS if network is None else network.length


def _needs_in(wide: pl.Series, ranks: NDArray[np.int16], block: Block) -> pl.DataFrame:
    """Return the needs of a block; hosts of bindings are null for an address."""
    decided, matches = block.decisions, block.matches
    needing = decided.allowed & (decided.rules != RULES.index(RuleKind.SUPER_USER))
    asking, through = matches.questions[matches.used], matches.bindings[matches.used]
    # Of several values for one question the last is assigned.
    order = np.argsort(ranks[through], kind="stable")
    best = np.full(len(needing), NO_BINDING, np.int32)
    best[asking[order]] = through[order]
    hosts = wide.gather(pl.Series(best).replace(NO_BINDING, None))
    # What everybody may do by default is for every host.
    by_default = pl.Series(decided.rules == RULES.index(RuleKind.DEFAULT_ALLOW))
    host = pl.when(by_default).then(pl.lit(WILDCARD)).otherwise(pl.coalesce(hosts, "host"))
    return block.rows.with_columns(host.alias("host")).filter(pl.Series(needing))
