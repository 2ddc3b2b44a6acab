"""Inputs and outputs of gold jobs, and their list."""

from __future__ import annotations

import hashlib
import importlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper.acl.model import WILDCARD_PRINCIPAL

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping

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
        doubtful: The principals with decisions that contradict the ACLs.

    """

    engine: Engine
    decisions: tuple[str, ...]
    bindings: pa.Table
    policy: Policy
    networks: bool = True
    since: dt.datetime | None = None
    lacking: tuple[str, ...] = ()
    doubtful: frozenset[str] = frozenset()

    def is_doubtful(self, binding: AclBinding) -> bool:
        """Return whether a binding must stay because it applies to a doubtful principal.

        A binding of ``User:*`` applies to each of them.
        """
        principal = binding.entry.principal
        return bool(self.doubtful) and principal in (*self.doubtful, WILDCARD_PRINCIPAL)


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
        doubtful: The principals for whom nothing is proposed, since their decisions contradict the
            ACLs; sorted.

    """

    bindings: tuple[AclBinding, ...]
    added: tuple[AclBinding, ...]
    removed: tuple[AclBinding, ...]
    least_privilege: pa.Table
    backtest: pa.Table
    risks: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


class GoldJob(NamedTuple):
    """A function that makes gold tables, the tables, and the inputs on which they depend.

    The tables are about one cluster, the input's.

    Inputs are named as in ``GoldInput`` and ``RunOptions.values``. The function, module:name, is
    imported when it is called, so that the start of a command is quick.
    """

    function: str
    tables: tuple[str, ...]
    inputs: tuple[str, ...]

    def make(self, asked: GoldInput) -> dict[str, pa.Table]:
        """Return the tables."""
        module, _, function = self.function.partition(":")
        made: Callable[[GoldInput], dict[str, pa.Table]]
        made = getattr(importlib.import_module(f"doorkeeper_pipeline.jobs.{module}"), function)
        return made(asked)

    def digest(self, values: Mapping[str, Any]) -> str:
        """Return a digest of the values, as JSON has them, of inputs, version and cluster."""
        those = {name: values[name] for name in (*self.inputs, "version", "cluster")}
        return hashlib.sha256(json.dumps(those, sort_keys=True).encode()).hexdigest()


_DECIDED = ("decisions", "bindings", "allow_everyone", "super_users", "networks")

BASIS_JOBS: tuple[GoldJob, ...] = (
    GoldJob("observed:days", ("days",), ("decisions",)),
    GoldJob("agreement:agreement", ("agreement",), _DECIDED),
)
"""The jobs whose tables are the evidence on which those of the others depend."""

GOLD_JOBS: tuple[GoldJob, ...] = (
    GoldJob("drift:drift", ("drift",), ("bindings", "since")),
    GoldJob("new_access:new_access", ("new_access",), ("decisions", "since")),
    GoldJob(
        "grants:grants",
        ("grant_usage", "unused_grants", "overbroad_grants"),
        (*_DECIDED, "lacking", "doubtful"),
    ),
    GoldJob("denied:denied_accesses", ("denied",), _DECIDED),
    GoldJob("least_privilege:least_privilege", ("least_privilege",), _DECIDED),
)
"""The other jobs, in the order in which they run."""
