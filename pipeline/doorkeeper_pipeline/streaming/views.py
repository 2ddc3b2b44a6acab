"""The tables that a person looks at while the stream runs: made anew from the sum of all batches.

Made anew, a crash cannot leave them counting a batch twice; a file is replaced by one rename.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.jobs.belonging import expect_cluster, known_name
from doorkeeper_pipeline.jobs.gold import GOLD_JOBS, GoldInput
from doorkeeper_pipeline.streaming import summary
from doorkeeper_pipeline.tables import contents, delta

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.acls.decision import Policy
    from doorkeeper_pipeline.streaming.batches import Batches

VIEWS = {
    table: job for table in ("denied", "new_access") for job in GOLD_JOBS if table in job.tables
}
"""The tables, and the gold jobs that make them."""


def refresh(
    out: Path, batches: Batches, policy: Policy, *, networks: bool = True, cluster: str = ""
) -> dict[str, int]:
    """Write the views; return how many rows each has.

    They are made with the ACLs of a cluster; empty stands for the only one.
    """
    tables = delta.Tables(out)
    files = tables.read("files").to_dicts()
    chosen = expect_cluster(files, cluster, known_name(tables))
    asked = GoldInput(
        engine=LocalEngine(),
        decisions=summary.up_to_date(batches),
        bindings=chosen.own(tables.read("bindings")).to_arrow(),
        policy=policy,
        networks=networks,
    )
    rows: dict[str, int] = {}
    for table, job in VIEWS.items():
        frame = contents.as_frame(table, job.make(asked)[table])
        contents.check(table, frame)
        target = batches.root / table / f"{table}.parquet"
        new = target.with_suffix(".new")
        contents.write(frame, new)
        new.replace(target)
        rows[table] = len(frame)
    return rows
