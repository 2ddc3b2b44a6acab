"""The history that an output folder holds, for commands that ask it something after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.sources import acl_sets
from doorkeeper_pipeline.tables import contents
from doorkeeper_pipeline.tables.delta import Change, Tables
from doorkeeper_pipeline.tables.locking import lock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from doorkeeper.acl.decision import Policy
    from doorkeeper_pipeline.engines.contract import Engine


def history(
    out: Path | str,
    engine: Engine,
    policy: Policy,
    acls: Sequence[str] = (),
    *,
    networks: bool = True,
) -> GoldInput:
    """Return the input of gold jobs, from the tables of an output folder.

    ``acls`` stand in place of the table bindings where they are given.

    Raises:
        PipelineError: the folder has no decisions.

    """
    tables = Tables(out)
    decisions = tables.files("decisions")
    if not decisions:
        raise PipelineError(
            f"{out}: no decisions here; make them with: doorkeeper-pipeline run --audit ... --out"
            f" {out}"
        )
    bindings = acl_sets.read(acls) if acls else tables.read("bindings")
    return GoldInput(
        engine=engine,
        decisions=tuple(decisions),
        bindings=bindings.to_arrow(),
        policy=policy,
        networks=networks,
    )


def keep(out: Path | str, tables: Mapping[str, pa.Table]) -> None:
    """Write gold tables into an output folder, each of them whole.

    Raises:
        BrokenContract: rows are not as they must be.
        Busy: another process writes there.

    """
    frames = {name: contents.as_frame(name, rows) for name, rows in tables.items()}
    for name, frame in frames.items():
        contents.check(name, frame)
    with lock(out):
        change = Change(Tables(out))
        for name, frame in frames.items():
            change.replace(name, frame)
        change.commit()
