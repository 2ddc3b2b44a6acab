"""The history that an output folder holds, for commands that ask it something after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.sources import acl_sets
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.staging import Staged, lock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from doorkeeper.acl.decision import Policy
    from doorkeeper_pipeline.engines.contract import Engine


def history(
    out: Path,
    engine: Engine,
    policy: Policy,
    acls: Sequence[str] = (),
    *,
    networks: bool = True,
) -> GoldInput:
    """Return the input of gold jobs, from the tables of an output folder.

    ``acls`` stand in place of the table bindings where they are given. A commit that a killed run
    left half moved is completed first.

    Raises:
        Busy: another process writes there.
        PipelineError: the folder has no decisions.

    """
    with lock(out):
        pass
    decisions = places.files_of(out, "decisions")
    if not decisions:
        raise PipelineError(
            f"{out}: no decisions here; make them with: doorkeeper-pipeline run --audit ... --out"
            f" {out}"
        )
    bindings = acl_sets.read(acls) if acls else contents.read(out, "bindings")
    return GoldInput(
        engine=engine,
        decisions=tuple(decisions),
        bindings=bindings.to_arrow(),
        policy=policy,
        networks=networks,
    )


def keep(out: Path, run_id: str, tables: Mapping[str, pa.Table]) -> None:
    """Write gold tables into an output folder, all of them or none.

    Raises:
        BrokenContract: rows are not as they must be.
        Busy: another process writes there.

    """
    frames = {name: contents.as_frame(name, rows) for name, rows in tables.items()}
    for name, frame in frames.items():
        contents.check(name, frame)
    with lock(out):
        staged = Staged(out, run_id)
        for name, frame in frames.items():
            contents.write(frame, staged.path(places.single(name)))
        staged.commit()
