"""The table of bindings for tests of the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from doorkeeper_pipeline.bindings import row_of
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.schemas import BINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acls.model import AclBinding


def bindings_table(bindings: Iterable[AclBinding]) -> pa.Table:
    """Return bindings that are all in force, as a file of ACLs gives them."""
    nothing = dict.fromkeys(
        (
            "valid_from",
            "valid_to",
            "known_from",
            "from_revision",
            "to_revision",
            "created_by",
            "removed_by",
        )
    )
    rows = [{**row_of(each), **nothing, "source": "yaml"} for each in bindings]
    return pa.Table.from_pylist(rows, schema=arrow_schema(BINDINGS))
