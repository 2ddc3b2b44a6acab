"""What gold jobs are given and give, and the list of them."""

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
    """What a gold job is given.

    Attributes:
        engine: What runs what is large.
        decisions: The Parquet files of the table decisions that are asked about, all of them.
        bindings: The table bindings; ``current`` are those in force at the end.
        policy: What decides beside the ACLs.
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
        prefixes: Whether prefixes are proposed that cover names nobody used yet.
        principals: For whom; empty for all.
        kinds: Which of least-privilege, unused and overbroad.

    """

    prefixes: bool = False
    principals: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("least-privilege", "unused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A set of ACLs instead of the one in force, and what it would turn.

    Attributes:
        bindings: The whole proposed set, sorted.
        added: What is new in it.
        removed: What is gone from it.
        least_privilege: The table of that name.
        backtest: The table of that name, for the whole history.
        risks: What is wrong with the evidence, where it was made all the same.

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
    "doorkeeper_pipeline.jobs.denied:denied",
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
