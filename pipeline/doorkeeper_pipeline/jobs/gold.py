"""Inputs and outputs of gold jobs, and their list."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    import pyarrow as pa

    from doorkeeper.acl.decision import Policy
    from doorkeeper.acl.model import AclBinding
    from doorkeeper_pipeline.engines.contract import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldInput:
    """The input of a gold job.

    Attributes:
        engine: The engine for large work.
        decisions: The Parquet files of the table decisions that are asked about, all of them.
        bindings: The table bindings; ``current`` are those in force at the end.
        policy: Super users, and the default without ACLs.
        networks: Whether hosts of ACLs may be networks, as in Kafka 4.4.
        since: The begin of the window of drift and new_access; None for the last day of the
            history.
        lacking: Why the evidence is not enough to recommend a removal; empty where it is.

    """

    engine: Engine
    decisions: tuple[str, ...]
    bindings: pa.Table
    policy: Policy
    networks: bool = True
    since: dt.datetime | None = None
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalOptions:
    """How a proposal is to be made.

    Attributes:
        prefixes: Whether prefixes are proposed that cover unused names.
        principals: For whom; empty for all.
        kinds: Which of least-privilege, unused and overbroad.

    """

    prefixes: bool = False
    principals: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("least-privilege", "unused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A set of ACLs instead of the one in force, and the decisions that it would change.

    Attributes:
        bindings: The whole proposed set, sorted.
        added: Its new bindings.
        removed: The bindings that it lacks.
        least_privilege: The table of that name.
        backtest: The table of that name, for the whole history.
        risks: The shortcomings of the evidence, if it was made nevertheless.

    """

    bindings: tuple[AclBinding, ...]
    added: tuple[AclBinding, ...]
    removed: tuple[AclBinding, ...]
    least_privilege: pa.Table
    backtest: pa.Table
    risks: tuple[str, ...] = ()


GOLD_JOBS: tuple[str, ...] = (
    "doorkeeper_pipeline.jobs.drift:drift",
    "doorkeeper_pipeline.jobs.new_access:new_access",
    "doorkeeper_pipeline.jobs.grants:grants",
    "doorkeeper_pipeline.jobs.denied:denied_accesses",
    "doorkeeper_pipeline.jobs.least_privilege:least_privilege",
)
"""The jobs, as module:function; imported when they run, so that the start of a command is quick."""


def gold_jobs() -> list[Callable[[GoldInput], dict[str, pa.Table]]]:
    """Return the jobs, in the order in which they run."""
    found = []
    for name in GOLD_JOBS:
        module, _, function = name.partition(":")
        found.append(getattr(importlib.import_module(module), function))
    return found
