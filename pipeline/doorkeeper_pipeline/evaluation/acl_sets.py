"""The table ``bindings`` as the evaluator takes it: those in force, numbered, with their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import polars as pl

from doorkeeper_pipeline.bindings import FIELDS
from doorkeeper_pipeline.evaluation.literals import bindings_of, frame_of

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from doorkeeper.acls.model import AclBinding

BINDING = "binding"

V = TypeVar("V")


class AclSet(NamedTuple):
    """Bindings, each once, and the ids of each in other tables.

    ``known_from`` are the times from which they are known to be there, or None; ``given`` says
    which of these are the times at which they were given.
    """

    bindings: tuple[AclBinding, ...]
    ids: tuple[str, ...]
    known_from: tuple[dt.datetime | None, ...]
    given: tuple[bool, ...]

    def with_ids(self, values: Mapping[str, V]) -> dict[AclBinding, V]:
        """Return the bindings whose ids have a value, each with its value."""
        pairs = zip(self.bindings, self.ids, strict=True)
        return {binding: values[each] for binding, each in pairs if each in values}


def in_force(table: pa.Table) -> AclSet:
    """Return the bindings of the table that were not removed, in the order of their fields.

    Raises:
        FormatError: a word of a row is not Kafka's.

    """
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame = frame.filter(pl.col("valid_to").is_null())
    columns = frame.select(
        "binding_id",
        pl.coalesce("valid_from", "known_from"),
        given=pl.col("valid_from").is_not_null(),
    )
    found = dict(zip(bindings_of(frame), columns.iter_rows(), strict=True))
    bindings = tuple(sorted(found))
    return AclSet(
        bindings,
        tuple(found[each][0] for each in bindings),
        tuple(found[each][1] for each in bindings),
        tuple(found[each][2] for each in bindings),
    )


def rows(acls: AclSet, numbers: Sequence[int] | None = None) -> pl.DataFrame:
    """Return the id and the seven fields of bindings, with their numbers in ``binding``."""
    chosen = range(len(acls.bindings)) if numbers is None else numbers
    return frame_of(acls.bindings[each] for each in chosen).select(
        pl.Series(BINDING, chosen, pl.Int32),
        pl.Series("binding_id", [acls.ids[each] for each in chosen], pl.String),
        *FIELDS,
    )
