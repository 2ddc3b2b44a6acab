"""The table ``bindings`` as the evaluator takes it: those in force, numbered, with their ids."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import polars as pl

from doorkeeper.acls.model import AclBinding
from doorkeeper_pipeline.bindings import FIELDS
from doorkeeper_pipeline.evaluation.literals import bindings_of

V = TypeVar("V")


class AclSet(NamedTuple):
    """Bindings, each once, in the order of their fields.

    ``rows`` has their numbers in ``binding``, the ids of each in other tables, and the seven
    fields. ``known_from`` are the times from which they are known to be there, or None; ``given``
    says which of these are the times at which they were given.
    """

    bindings: tuple[AclBinding, ...]
    rows: pl.DataFrame
    known_from: tuple[dt.datetime | None, ...]
    given: tuple[bool, ...]

    @property
    def ids(self) -> list[str]:
        return self.rows["binding_id"].to_list()

    def with_ids(self, values: Mapping[str, V]) -> dict[AclBinding, V]:
        """Return the bindings whose ids have a value, each with its value."""
        pairs = zip(self.bindings, self.ids, strict=True)
        return {
            binding: values[binding_id] for binding, binding_id in pairs if binding_id in values
        }


def in_force(table: pl.DataFrame) -> AclSet:
    """Return the bindings of the table that were not removed, in the order of their fields.

    Raises:
        FormatError: a word of a row is not Kafka's.

    """
    frame = table.filter(pl.col("valid_to").is_null())
    frame = frame.unique(FIELDS, keep="last", maintain_order=True)
    bindings = bindings_of(frame)
    order = sorted(range(len(bindings)), key=bindings.__getitem__)
    frame = frame[pl.Series(order, dtype=pl.UInt32)]
    return AclSet(
        tuple(bindings[number] for number in order),
        frame.select(pl.Series("binding", range(len(order)), pl.Int32), "binding_id", *FIELDS),
        tuple(frame.select(pl.coalesce("known_from", "valid_from")).to_series()),
        tuple(frame["valid_from"].is_not_null()),
    )
