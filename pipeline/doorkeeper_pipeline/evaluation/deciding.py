"""The decision of each question, with the rule and the bindings behind it.

It is the answer of ``doorkeeper.acls.decision.explain``, for many questions at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from doorkeeper.acls.decision import RuleKind
from doorkeeper_pipeline.evaluation.index import EVERYONE, NO_NODE, NO_SCORE, Index, row_keys
from doorkeeper_pipeline.evaluation.questions import UNNAMED, Questions

RULES = tuple(RuleKind)
"""The kinds of rule; their places are the codes in ``Decisions.rules``."""

_SUPER_USER, _MATCHING_ACL, _DEFAULT_ALLOW, _DEFAULT_DENY = (
    RULES.index(kind)
    for kind in (
        RuleKind.SUPER_USER,
        RuleKind.MATCHING_ACL,
        RuleKind.DEFAULT_ALLOW,
        RuleKind.DEFAULT_DENY,
    )
)

NO_BINDING = -1
"""The binding of a decision that none decided."""


class Decisions(NamedTuple):
    """One element a question."""

    allowed: NDArray[np.bool_]
    rules: NDArray[np.int8]
    bindings: NDArray[np.int32]
    """The number of the binding that decided, or NO_BINDING."""

    def part(self, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Decisions:
        return Decisions(self.allowed[which], self.rules[which], self.bindings[which])

    def frame(self) -> pl.DataFrame:
        """Return them as rows: allowed, rule, and binding, which is null where none decided."""
        words = pl.Series([kind.value for kind in RULES])
        bindings = pl.Series(self.bindings).replace(NO_BINDING, None)
        return pl.DataFrame(
            {"allowed": self.allowed, "rule": words.gather(self.rules), "binding": bindings}
        )


def decisions(index: Index, questions: Questions) -> Decisions:
    """Decide questions: four look-ups each, and two for each network around the address."""
    scores = np.full(questions.size, NO_SCORE, np.int32)
    for which, nodes in innermost(index, questions):
        best = index.best[nodes, questions.operations[which]]
        scores[which] = np.minimum(scores[which], best)
    scores[questions.super_users] = NO_SCORE
    matched = scores != NO_SCORE
    bindings = np.full(questions.size, NO_BINDING, np.int32)
    bindings[matched] = index.bindings_of(scores[matched])
    rules = np.full(questions.size, _DEFAULT_DENY, np.int8)
    rules[matched] = _MATCHING_ACL
    allowed = matched & (scores >= index.entries)
    if index.coverage is not None:
        open_to_all = ~matched & (coverage_counts(index, questions) == 0)
        rules[open_to_all] = _DEFAULT_ALLOW
        allowed |= open_to_all
    rules[questions.super_users] = _SUPER_USER
    return Decisions(allowed | questions.super_users, rules, bindings)


def coverage_counts(index: Index, questions: Questions) -> NDArray[np.int32]:
    """Return how many bindings, of whomever, cover the resource of each question."""
    assert index.coverage is not None
    return index.coverage.counts[questions.types, questions.cells]


def innermost(
    index: Index, questions: Questions
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Yield for each row of a question: the questions that have a node in it, and those nodes."""
    named = questions.principals != UNNAMED
    from_named = questions.hosts != UNNAMED
    # Whoever asks as User:*, or from the host *, has the same row twice: it counts once.
    own = named & (questions.principals != EVERYONE)
    from_own = from_named & (questions.hosts != EVERYONE)
    everyones = np.ones(questions.size, np.bool_)
    around = [(numbers, numbers != UNNAMED) for numbers in questions.networks]
    for principals, who in ((questions.principals, own), (None, everyones)):
        for hosts, where in ((questions.hosts, from_own), (None, everyones), *around):
            which = np.flatnonzero(who & where)
            keys = row_keys(
                _EVERYONES if principals is None else principals[which],
                _EVERYONES if hosts is None else hosts[which],
                questions.types[which],
                len(index.hosts),
            )
            yield _nodes_of(index, keys, which, questions.cells[which])


_EVERYONES = np.array([EVERYONE], np.int64)


def _nodes_of(
    index: Index, keys: NDArray[np.int64], which: NDArray[np.int64], cells: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    if not len(index.rows):
        return which[:0], np.empty(0, np.int32)
    rows = np.searchsorted(index.rows, keys)
    there = index.rows[np.minimum(rows, len(index.rows) - 1)] == keys
    which, rows, cells = which[there], rows[there], cells[there]
    places = np.searchsorted(index.starts, rows * len(index.cells) + cells, side="right") - 1
    # Before a row's first start stands the end of the row before it, or nothing at all.
    nodes = np.where(places >= 0, index.nodes[places], NO_NODE)
    covered = nodes != NO_NODE
    return which[covered], nodes[covered]


class Matches(NamedTuple):
    """Pairs of a question and a binding that matches it, or on which its decision hung, or both."""

    questions: NDArray[np.int64]
    bindings: NDArray[np.int32]
    used: NDArray[np.bool_]
    decisive: NDArray[np.bool_]


def matches(index: Index, questions: Questions) -> Matches:
    """Return every pair of a question and a binding that matches it or that it hung on.

    A binding is used if it is a DENY that matches, or an ALLOW that matches where no DENY does. It
    is decisive if without it alone the decision would be the other one: a DENY if it is the only
    one, and an ALLOW matches too; an ALLOW if it is the only one. With
    ``allow.everyone.if.no.acl.found`` a binding also counts by being there, so that one which is
    the only one to cover a resource may be decisive without being used, or used without being
    decisive.
    """
    asking, entries = _matching(index, questions)
    denies = index.entry_denies[entries]
    count = questions.size
    denied = np.bincount(asking[denies], minlength=count)
    allowed = np.bincount(asking[~denies], minlength=count)
    is_used = denies | (denied[asking] == 0)
    turns = np.where(
        denies,
        (denied[asking] == 1) & (allowed[asking] > 0),
        (denied[asking] == 0) & (allowed[asking] == 1),
    )
    bindings = index.entry_bindings[entries]
    if index.coverage is None:
        return Matches(asking, bindings, is_used, turns)
    # What covers a resource alone opens it to everybody when it goes.
    alone = coverage_counts(index, questions) == 1
    turns = np.where(alone[asking], denies, turns)
    closing = np.flatnonzero(alone & (denied + allowed == 0) & ~questions.super_users)
    sums = index.coverage.sums[questions.types[closing], questions.cells[closing]]
    return Matches(
        np.concatenate([asking, closing]),
        np.concatenate([bindings, sums.astype(np.int32)]),
        np.concatenate([is_used, np.zeros(len(closing), np.bool_)]),
        np.concatenate([turns, np.ones(len(closing), np.bool_)]),
    )


def _matching(index: Index, questions: Questions) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return every pair of a question and an entry that matches it; of super users none does.

    The ancestors of a question's innermost node are all that covers it; they are walked level by
    level, for all questions together.
    """
    asking: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    matching: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    for which, nodes in innermost(index, questions):
        ordinary = ~questions.super_users[which]
        climbing, level = which[ordinary], nodes[ordinary]
        while len(climbing):
            begins = index.offsets[level]
            sizes = index.offsets[level + 1] - begins
            of = np.repeat(climbing, sizes)
            within = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            entries = index.node_entries[np.repeat(begins, sizes) + within]
            about = (index.entry_asks[entries] >> questions.operations[of]) & 1 == 1
            asking.append(of[about])
            matching.append(entries[about])
            parents = index.parents[level]
            further = parents != NO_NODE
            climbing, level = climbing[further], parents[further]
    return np.concatenate(asking), np.concatenate(matching)
