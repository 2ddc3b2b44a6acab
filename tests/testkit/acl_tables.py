"""The table of bindings for tests of the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.bindings import row_of
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acls.model import AclBinding


def bindings_table(bindings: Iterable[AclBinding]) -> pl.DataFrame:
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
    return contents.of_job("bindings", pl.DataFrame(rows, schema=contents.schema_of("bindings")))
