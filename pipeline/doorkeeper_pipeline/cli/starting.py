"""The surroundings of a job, and findings that are accepted."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import secrets
from collections.abc import Callable
from pathlib import Path

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.jobs.request import Surroundings


def accepted_findings(findings: Path | None, cluster: str) -> dict[str, dt.date]:
    """Return until when findings are accepted, by id; none without a file.

    Raises:
        Unreadable: it is no file of findings.
        Conflicting: its findings are of another cluster.

    """
    from doorkeeper_pipeline.report.findings import accepted, read

    return {} if findings is None else accepted(read(findings), now().date(), cluster)


def now() -> dt.datetime:
    """Return the time, UTC."""
    return dt.datetime.now(dt.UTC)  # noqa: TID251  the outermost place: the clock begins here


def surroundings(engine: Engine, tell: Callable[[str], None]) -> Surroundings:
    """Return the surroundings of a run; its name has when it began, and a random part."""
    run_id = f"{now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
    return Surroundings(engine=engine, now=now, run_id=run_id, version=version(), tell=tell)


def version() -> str:
    try:
        return importlib.metadata.version("doorkeeper")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
