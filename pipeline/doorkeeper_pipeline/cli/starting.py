"""The policy, and the inputs of a job."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.cli import options
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.jobs.request import RunOptions, Surroundings, last_options


def run_options(
    out: Path | str,
    super_users: tuple[str, ...],
    *,
    allow_everyone: bool | None,
    release: str | None,
    limits: Mapping[str, Any] = {},
    cluster: str = "",
) -> RunOptions:
    """Return the options of the last run into a folder, and in place of them those that are given.

    ``limits`` are the values of ``options.evidence``.
    """
    last = last_options(out, cluster)
    everyone = last.policy.allow_everyone if allow_everyone is None else allow_everyone
    given_limits = {name: limit for name, limit in limits.items() if limit is not None}
    return RunOptions(
        Policy(
            super_users=frozenset(super_users) or last.policy.super_users, allow_everyone=everyone
        ),
        last.networks if release is None else options.RELEASES[release],
        last.thresholds._replace(**given_limits),
    )


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
