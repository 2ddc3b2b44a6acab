"""Which bindings were used for each question, and which of them its decision hung on.

    used      a DENY that matches; an ALLOW that matches where no DENY does
    decisive  without this binding alone the decision would be the other one

That is for a DENY: it is the only one, and an ALLOW matches too; for an ALLOW: it is the only one.
With ``allow.everyone.if.no.acl.found`` a binding also counts by being there, so that one which is
the only one to cover a resource may be decisive without being used, or used without being decisive.

The ancestors of a question's innermost node are all that covers it; they are walked level by level,
for all questions together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from doorkeeper_pipeline.evaluation.deciding import coverage_counts, innermost
from doorkeeper_pipeline.evaluation.index import NO_NODE, Index
from doorkeeper_pipeline.evaluation.questions import Questions


class Matches(NamedTuple):
    """Pairs of a question and a binding that matches it, or on which its decision hung, or both."""

    questions: NDArray[np.int64]
    bindings: NDArray[np.int32]
    used: NDArray[np.bool_]
    decisive: NDArray[np.bool_]


def matches(index: Index, questions: Questions) -> Matches:
    """Return every pair of a question and a binding that matches it or that it hung on."""
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
    """Return every pair of a question and an entry that matches it; of super users none does."""
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
