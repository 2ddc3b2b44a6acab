"""Distinct decisions as jobs are given them, with the answers of sets of ACLs.

Jobs ask the same decisions about the same set of ACLs: its answers are computed once for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from doorkeeper_pipeline.evaluation.deciding import Decisions, Matches, decisions, matches
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.questions import Questions, Texts, encode, texts_of

BLOCK_ROWS = 1 << 17
"""How many decisions are matched at once: each may match hundreds of bindings, 30 bytes a pair."""

PAIRS_KEPT = 1 << 22
"""How many pairs of a decision and a binding are kept between jobs: 60 MB."""

SETS_KEPT = 2
"""For how many sets of ACLs answers are kept: that in force, and the one it is compared with."""


class Block(NamedTuple):
    """Some decisions that follow each other, and the bindings that match them."""

    rows: pl.DataFrame
    questions: Questions
    decisions: Decisions
    matches: Matches


class Evaluated:
    """Distinct decisions with the answers of one set of ACLs.

    Attributes:
        rows: The decisions, in the columns of a question and others.
        index: The set of ACLs, compiled.

    """

    def __init__(self, rows: pl.DataFrame, texts: dict[str, Texts], index: Index) -> None:
        self.rows = rows
        self.index = index
        self._texts = texts
        self._matches: dict[int, Matches] = {}
        self._pairs = 0

    @cached_property
    def questions(self) -> Questions:
        return encode(self.index, self._texts)

    @cached_property
    def decisions(self) -> Decisions:
        return decisions(self.index, self.questions)

    def blocks(self) -> Iterator[Block]:
        """Yield the accesses in parts that can be matched at once."""
        which = accesses(self.rows)
        numbers = None if which.all() else np.flatnonzero(which)
        for begin in range(0, int(which.sum()), BLOCK_ROWS):
            span: slice | NDArray[np.int64] = slice(begin, begin + BLOCK_ROWS)
            if numbers is not None:
                span = numbers[span]
            questions = self.questions.part(span)
            matched = self._matches.get(begin)
            if matched is None:
                matched = matches(self.index, questions)
                pairs = len(matched.questions)
                if self._pairs + pairs <= PAIRS_KEPT:
                    self._matches[begin] = matched
                    self._pairs += pairs
            yield Block(self.rows[span], questions, self.decisions.part(span), matched)


def accesses(rows: pl.DataFrame) -> NDArray[np.bool_]:
    """Return which decisions are accesses: all but probes that were allowed.

    Such a probe asks which operations a client may use, and the client uses none of them. One that
    was denied may hide a name in a list.

    Source: KIP-430; ``AuthHelper.authorizedOperations`` has ``logIfAllowed = false``, at TRACE.
    """
    if "probe" not in rows.columns:
        return np.ones(len(rows), np.bool_)
    asked = pl.col("probe").fill_null(value=False) & (pl.col("outcome") == "ALLOWED")
    return rows.select(~asked).to_series().to_numpy()


class DecisionTable:
    """Distinct decisions: the input of the functions of questions.

    Attributes:
        rows: The columns that were asked for, ``count``, ``first_ts`` and
            ``last_ts``.

    """

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows
        self._evaluated: list[Evaluated] = []

    @cached_property
    def texts(self) -> dict[str, Texts]:
        return texts_of(self.rows)

    def evaluate(self, index: Index) -> Evaluated:
        """Return the answers of a set of ACLs; those of an earlier call again."""
        evaluated = next((earlier for earlier in self._evaluated if earlier.index is index), None)
        if evaluated is None:
            evaluated = Evaluated(self.rows, self.texts, index)
        else:
            self._evaluated.remove(evaluated)
        self._evaluated = [*self._evaluated[1 - SETS_KEPT :], evaluated]
        return evaluated

    def find(
        self,
        index: Index,
        function: Callable[[Block], pl.DataFrame],
        schema: Mapping[str, pl.DataType],
    ) -> pl.DataFrame:
        """Return what a function finds in each block, in the columns of a schema, not added."""
        frames = [function(block).select(list(schema)) for block in self.evaluate(index).blocks()]
        return pl.concat([pl.DataFrame(schema=schema), *frames])
