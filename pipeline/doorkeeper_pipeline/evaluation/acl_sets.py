"""The table ``bindings`` as the evaluator takes it: those in force, numbered, with their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from doorkeeper_pipeline.bindings import FIELDS, binding_of_row, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from doorkeeper.acl.model import AclBinding

BINDING = "binding"


class AclSet(NamedTuple):
    """Bindings, each once, and the ids of each in other tables."""

    bindings: tuple[AclBinding, ...]
    ids: tuple[str, ...]


def in_force(table: pa.Table) -> AclSet:
    """Return the bindings of the table that were not removed, in the order of their fields.

    Raises:
        FormatError: a word of a row is not Kafka's.

    """
    rows = table.to_pylist()
    found = {binding_of_row(row): row["binding_id"] for row in rows if row["valid_to"] is None}
    bindings = tuple(sorted(found))
    return AclSet(bindings, tuple(found[each] for each in bindings))


def rows(acls: AclSet, numbers: Sequence[int] | None = None) -> pl.DataFrame:
    """Return the id and the seven fields of bindings, with their numbers in ``binding``."""
    chosen = range(len(acls.bindings)) if numbers is None else numbers
    found = [row_of(acls.bindings[each], acls.ids[each]) for each in chosen]
    names = ("binding_id", *FIELDS)
    return pl.DataFrame(
        {
            BINDING: pl.Series(chosen, dtype=pl.Int32),
            **{name: pl.Series([row[name] for row in found], dtype=pl.String) for name in names},
        }
    )
