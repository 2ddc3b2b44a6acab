"""Inputs and outputs of gold jobs, and their list."""

from __future__ import annotations

import hashlib
import importlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS, Thresholds
from doorkeeper_pipeline.evaluation.unread import NOTHING_UNREAD, UnreadLines

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.effective_changes import EffectiveChange
    from doorkeeper.acls.model import AclBinding
    from doorkeeper_pipeline.engines.contract import Engine
    from doorkeeper_pipeline.evaluation.acl_sets import AclSet
    from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
    from doorkeeper_pipeline.evaluation.index import Index
    from doorkeeper_pipeline.jobs.asking import Question
    from doorkeeper_pipeline.jobs.distinct import Part

    Asking = Callable[["GoldInput"], Question]


Derived = TypeVar("Derived")


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldInput:
    """The input of a gold job.

    Attributes:
        engine: The engine for large work.
        decisions: The Parquet files of the table decisions that are asked about, all of them.
        sums: The parts of their distinct decisions; empty where they are not summed up.
        known_days: Rows of the table days that hold; None if nothing is known.
        undated: The files of decisions of the days that are not among them.
        bindings: The table bindings; ``current`` are those in force at the end.
        policy: Super users, and the default without ACLs.
        networks: Whether hosts of ACLs may be networks, as in Kafka 4.4.
        since: The begin of the window of drift and new_access; None for the last day of the
            history.
        lacking: Why the evidence is not enough to recommend a removal; empty where it is.
        doubtful: The principals with decisions that contradict the ACLs.
        unread: The lines that could not be read for certain, which may be uses.
        lost_lines: What says that lines of the log are missing; empty where nothing does.
        brokers: How many logs of brokers were read; None where the decisions are not of such logs.
        thresholds: The evidence that a recommendation needs.
        sensitive: The beginnings of the names of sensitive topics.
        together: The questions to the distinct decisions that are answered in one pass, as soon as
            one of them is asked; module:name each.
        indexes: The sets whose indexes were compiled already, by object, and these.
        answers: The answers that were given already, and what follows from them; they know no
            evidence.
        kept: The distinct decisions that stay between passes.

    """

    engine: Engine
    decisions: tuple[str, ...]
    sums: tuple[Part, ...] = ()
    known_days: pa.Table | None = None
    undated: tuple[str, ...] = ()
    bindings: pa.Table
    policy: Policy
    networks: bool = True
    since: dt.datetime | None = None
    lacking: tuple[str, ...] = ()
    doubtful: frozenset[str] = frozenset()
    unread: UnreadLines = NOTHING_UNREAD
    lost_lines: str = ""
    brokers: int | None = None
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    sensitive: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    indexes: dict[int, tuple[tuple[AclBinding, ...], Index]] = field(
        default_factory=dict, repr=False, compare=False
    )
    answers: dict[Callable[[GoldInput], Any], Any] = field(
        default_factory=dict, repr=False, compare=False
    )
    kept: dict[Part, DecisionTable] = field(default_factory=dict, repr=False, compare=False)

    @property
    def acls(self) -> AclSet:
        """Return the set of ACLs in force at the end."""
        return self.once(_acls_in_force)

    def index(self, bindings: tuple[AclBinding, ...]) -> Index:
        """Return the index of a set of ACLs."""
        from doorkeeper_pipeline.evaluation.index import compile_index

        if id(bindings) not in self.indexes:
            index = compile_index(bindings, self.policy, networks=self.networks)
            self.indexes[id(bindings)] = bindings, index
        return self.indexes[id(bindings)][1]

    def answer(self, asking: Asking) -> pa.Table:
        """Return the answers of all parts to a question, asked once, with those of ``together``."""
        if asking not in self.answers:
            makers = {asking, *map(_named, self.together)} - self.answers.keys()
            found = self.ask(*(make(self) for make in makers))
            self.answers.update(zip(makers, found, strict=True))
        table: pa.Table = self.answers[asking]
        return table

    def once(self, derive: Callable[[GoldInput], Derived]) -> Derived:
        """Return what follows from answers, derived once."""
        if derive not in self.answers:
            self.answers[derive] = derive(self)
        derived: Derived = self.answers[derive]
        return derived

    def ask(self, *questions: Question) -> list[pa.Table]:
        """Return the answers of all parts of the distinct decisions to some questions."""
        from doorkeeper_pipeline.jobs import asking
        from doorkeeper_pipeline.jobs.distinct import DISTINCT, Part

        parts = self.sums or ((Part(self.decisions, DISTINCT),) if self.decisions else ())
        return asking.ask(self.engine, parts, questions, self.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalOptions:
    """How a proposal is to be made.

    Attributes:
        prefixes: Whether prefixes are proposed that cover unused names.
        principals: For whom; empty for all.
        kinds: Which of least-privilege, unused and overbroad.
        accepted: The bindings that stay, since their owners accepted them until a day.
        wider: Whether ACLs may be proposed that allow more than those in force.

    """

    prefixes: bool = False
    principals: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("least-privilege", "unused")
    accepted: Mapping[AclBinding, dt.date] = field(default_factory=dict)
    wider: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A set of ACLs instead of the one in force, and the decisions that it would change.

    Attributes:
        bindings: The whole proposed set, sorted.
        added: Its new bindings.
        removed: The bindings that it lacks.
        least_privilege: The table of that name.
        backtest: The table of that name, for the whole history.
        allowed: The number of allowed decisions of the history; None where it was not counted.
        risks: The shortcomings of the evidence, if it was made nevertheless.
        doubtful: The principals for whom nothing is proposed, since their decisions contradict the
            ACLs; sorted.
        wider: The regions of requests that the ACLs in force do not allow, and these do, sorted.
        accepted: The bindings that stay since their owners accepted them until a day, sorted.
        unread: The lines that could not be read for certain, whose principals get no proposal.
        patterns: The grants that no literal ones replace, since their names are generated or too
            many, each with the reason; sorted.
        closing: The removed bindings without which no ACL is about their names. They are open to
            all then, if ``allow.everyone.if.no.acl.found`` is set on the cluster after all.

    """

    bindings: tuple[AclBinding, ...]
    added: tuple[AclBinding, ...]
    removed: tuple[AclBinding, ...]
    least_privilege: pa.Table
    backtest: pa.Table
    allowed: int | None = None
    risks: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    wider: tuple[EffectiveChange, ...] = ()
    accepted: tuple[tuple[AclBinding, dt.date], ...] = ()
    closing: tuple[AclBinding, ...] = ()
    patterns: tuple[tuple[AclBinding, str], ...] = ()
    unread: UnreadLines = NOTHING_UNREAD


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
        made: dict[str, pa.Table] = _named(self.function)(asked)
        return made

    def digest(self, values: Mapping[str, Any]) -> str:
        """Return a digest of the values, as JSON has them, of inputs, version and cluster."""
        those = {name: values[name] for name in (*self.inputs, "version", "cluster")}
        return hashlib.sha256(json.dumps(those, sort_keys=True).encode()).hexdigest()


def _acls_in_force(asked: GoldInput) -> AclSet:
    from doorkeeper_pipeline.evaluation.acl_sets import in_force

    return in_force(asked.bindings)


def _named(name: str) -> Callable[[GoldInput], Any]:
    """Return what a module of the jobs has, as module:name."""
    module, _, attribute = name.partition(":")
    found: Callable[[GoldInput], Any]
    found = getattr(importlib.import_module(f"doorkeeper_pipeline.jobs.{module}"), attribute)
    return found


TOGETHER = (
    *("clients:REQUESTED", "observed:ACTIVITY", "observed:NAMES", "observed:BROKERS"),
    *("new_access:HOSTS", "agreement:outcomes", "grants:uses", "grants:touches", "grants:names"),
    *("denied:refusals", "least_privilege:needed"),
)
"""The questions of all jobs that do not depend on an answer."""

_DECIDED = ("decisions", "bindings", "allow_everyone", "super_users", "networks")

DAYS_JOB = GoldJob("observed:days", ("days",), ("decisions",))

BASIS_JOBS: tuple[GoldJob, ...] = (
    DAYS_JOB,
    GoldJob("clients:clients", ("clients",), ("decisions", "bindings")),
    GoldJob("agreement:agreement", ("agreement",), _DECIDED),
)
"""The jobs whose tables are the evidence on which those of the others depend."""

GOLD_JOBS: tuple[GoldJob, ...] = (
    GoldJob("drift:drift", ("drift",), ("bindings", "since")),
    GoldJob("new_access:new_access", ("new_access",), ("decisions", "since")),
    GoldJob(
        "grants:grants",
        ("grant_usage", "unused_grants", "overbroad_grants"),
        (
            *_DECIDED,
            "lacking",
            "doubtful",
            "unread",
            "lost_lines",
            "brokers",
            "thresholds",
            "sensitive",
        ),
    ),
    GoldJob("denied:denied_accesses", ("denied",), _DECIDED),
    GoldJob("least_privilege:least_privilege", ("least_privilege",), _DECIDED),
)
"""The other jobs, in the order in which they run."""
