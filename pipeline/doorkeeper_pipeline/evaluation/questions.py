"""Distinct questions as an index reads them: numbers in place of texts.

A question is (principal, host, operation, resource type, resource name), five text columns of a
frame with Kafka's own words for the operation and the type. Each column is made a dictionary
first, so that every different text is looked at once.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from doorkeeper.acls.model import WILDCARD, AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.index import Index

QUESTION = ("principal", "host", "operation", "resource_type", "resource_name")
"""The columns of a question, in the order of ``doorkeeper.acls.decision.Question``."""


TIME = pl.Datetime("us", "UTC")
COUNTS = {"count": pl.Int64(), "first_ts": TIME, "last_ts": TIME}
"""How often a question was asked, when first, and when last."""

SUMMED = (pl.col("count").sum(), pl.col("first_ts").min(), pl.col("last_ts").max())
"""These of several rows together."""

UNNAMED = -1
"""The number of a principal, or of a host, that no binding names."""


class BadQuestions(ValueError):
    """A table holds no questions; the text says which column is wrong, and where."""


class Texts(NamedTuple):
    """A column: its different texts, and for each row which of them it has."""

    values: list[str]
    codes: NDArray[np.int64]


class Questions(NamedTuple):
    """Questions encoded for one index; all arrays have one element a question."""

    texts: dict[str, Texts]
    """The columns of ``QUESTION`` as they came."""

    principals: NDArray[np.int64]
    hosts: NDArray[np.int64]
    networks: tuple[NDArray[np.int64], ...]
    """The numbers of the networks around the addresses: the first of each question, the second,
    and so on; UNNAMED where there is none."""
    operations: NDArray[np.int64]
    types: NDArray[np.int64]
    cells: NDArray[np.int64]
    super_users: NDArray[np.bool_]

    @property
    def size(self) -> int:
        return len(self.cells)

    def part(self, span: slice | NDArray[np.int64]) -> Questions:
        return Questions(
            {name: Texts(texts.values, texts.codes[span]) for name, texts in self.texts.items()},
            self.principals[span],
            self.hosts[span],
            tuple(network[span] for network in self.networks),
            self.operations[span],
            self.types[span],
            self.cells[span],
            self.super_users[span],
        )


def encode(index: Index, texts: dict[str, Texts]) -> Questions:
    """Return questions as an index reads them.

    Raises:
        BadQuestions: an operation or a type is not Kafka's.

    """
    super_users = index.policy.super_users
    return Questions(
        texts,
        _numbers_of(texts["principal"], lambda text: index.principals.get(text, UNNAMED)),
        _numbers_of(texts["host"], lambda text: index.hosts.get(text, UNNAMED)),
        _networks(index, texts["host"]),
        _numbers_of(texts["operation"], lambda text: _code(AclOperation, "operation", text)),
        _numbers_of(
            texts["resource_type"], lambda text: _code(ResourceType, "resource_type", text)
        ),
        _numbers_of(texts["resource_name"], index.cells.cell),
        _numbers_of(texts["principal"], lambda text: text in super_users).astype(np.bool_),
    )


def texts_of(rows: pl.DataFrame) -> dict[str, Texts]:
    """Return the columns of a question, for any index.

    Raises:
        BadQuestions: a column is missing, or holds null.

    """
    return {column: _texts(rows, column) for column in QUESTION}


def _texts(rows: pl.DataFrame, column: str) -> Texts:
    if column not in rows.columns:
        raise BadQuestions(
            f"missing column {column}; found: {', '.join(rows.columns)}; expected:"
            f" {', '.join(QUESTION)}"
        )
    if count := rows[column].null_count():
        raise BadQuestions(f"column {column}: {count} rows are null; expected: strings")
    array = rows[column].rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    array = array.dictionary_encode()
    return Texts(array.dictionary.to_pylist(), array.indices.to_numpy().astype(np.int64))


def _networks(index: Index, texts: Texts) -> tuple[NDArray[np.int64], ...]:
    if not index.networks:
        return ()
    around = [
        [
            index.hosts[host]
            for host in index.networks.matching(text)
            if host not in (WILDCARD, text)
        ]
        for text in texts.values
    ]
    positions = range(max(map(len, around), default=0))
    columns = (
        [row[position] if position < len(row) else UNNAMED for row in around]
        for position in positions
    )
    return tuple(np.array(column, np.int64)[texts.codes] for column in columns)


def _numbers_of(texts: Texts, number: Callable[[str], int]) -> NDArray[np.int64]:
    return np.fromiter(map(number, texts.values), np.int64, len(texts.values))[texts.codes]


def _code(kind: type[IntEnum], column: str, text: str) -> int:
    try:
        return int(kind[text])
    except KeyError:
        allowed = ", ".join(kind.__members__)
        raise BadQuestions(f"column {column}: found {text!r}; allowed: {allowed}") from None
