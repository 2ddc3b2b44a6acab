"""Inputs and outputs of gold jobs, and their list."""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.evaluation.acl_sets import AclSet, in_force
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.evidence import (
    DEFAULT_THRESHOLDS,
    NO_DOUBT,
    Evidence,
    Thresholds,
)
from doorkeeper_pipeline.evaluation.index import Index, compile_index
from doorkeeper_pipeline.evaluation.questions import COUNTS
from doorkeeper_pipeline.evaluation.unread import NOTHING_UNREAD, UnreadLines
from doorkeeper_pipeline.jobs.asking import DISTINCT, Part, Question, ask, distinct

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
        proof: The evidence by which grants are judged.
        unread: The lines that could not be read for certain, which may be uses.
        forgotten: When names were last removed from the history; None if never.
        thresholds: The evidence that a recommendation needs.
        sensitive: The beginnings of the names of sensitive topics.
        together: The questions to the distinct decisions that are answered in one pass, as soon as
            one of them is asked; module:name each.
        answers: The answers that were given already, and what follows from them; they know no
            evidence.
        kept: The distinct decisions that stay between passes.

    """

    engine: Engine
    decisions: tuple[str, ...]
    sums: tuple[Part, ...] = ()
    known_days: pl.DataFrame | None = None
    undated: tuple[str, ...] = ()
    bindings: pl.DataFrame
    policy: Policy
    networks: bool = True
    since: dt.datetime | None = None
    proof: Evidence = NO_DOUBT
    unread: UnreadLines = NOTHING_UNREAD
    forgotten: dt.datetime | None = None
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    sensitive: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    answers: dict[Callable[[GoldInput], Any], Any] = field(
        default_factory=dict, repr=False, compare=False
    )
    kept: dict[Part, DecisionTable] = field(default_factory=dict, repr=False, compare=False)

    @property
    def acls(self) -> AclSet:
        return self.once(_acls_in_force)

    @property
    def index(self) -> Index:
        """Return the set in force, compiled once."""
        return self.once(_index_in_force)

    def answer(self, asking: Asking) -> pl.DataFrame:
        """Return the answers of all parts to a question, asked once, with those of ``together``."""
        if asking not in self.answers:
            makers = {asking, *map(_named, self.together)} - self.answers.keys()
            answers = self.ask(*(make(self) for make in makers))
            self.answers.update(zip(makers, answers, strict=True))
        table: pl.DataFrame = self.answers[asking]
        return table

    def once(self, derive: Callable[[GoldInput], Derived]) -> Derived:
        """Return what follows from answers, derived once."""
        if derive not in self.answers:
            self.answers[derive] = derive(self)
        derived: Derived = self.answers[derive]
        return derived

    def ask(self, *questions: Question) -> list[pl.DataFrame]:
        """Return the answers of all parts of the distinct decisions to some questions."""
        parts = self.sums or ((Part(self.decisions, DISTINCT),) if self.decisions else ())
        return ask(self.engine, parts, questions, self.kept)


@dataclass(frozen=True, slots=True)
class Totals:
    """Asks for the decisions by some columns only, with their counts and times."""

    by: tuple[str, ...]

    def __call__(self, _: GoldInput) -> Question:
        kinds = {name: pl.Boolean() if name == "probe" else pl.String() for name in self.by}
        return Question(partial(totals, self.by), {**kinds, **COUNTS})

    def of(self, asked: GoldInput) -> pl.DataFrame:
        """Return the rows of the whole history, sorted."""
        return asked.once(self._summed)

    def _summed(self, asked: GoldInput) -> pl.DataFrame:
        return distinct(asked.answer(self).lazy(), self.by).sort(self.by).collect()


def totals(by: tuple[str, ...], table: DecisionTable) -> pl.DataFrame:
    """Return the decisions of a part by some columns only."""
    return distinct(table.rows.lazy(), by).collect()


class GoldJob(NamedTuple):
    """A function that makes gold tables, the tables, and the inputs on which they depend.

    The tables are about one cluster, the input's.

    Inputs are named as in ``GoldInput``, ``Evidence`` and ``RunOptions.values``. The function,
    module:name, is imported when it is called, so that the start of a command is quick.
    """

    function: str
    tables: tuple[str, ...]
    inputs: tuple[str, ...]

    def make(self, asked: GoldInput) -> dict[str, pl.DataFrame]:
        made: dict[str, pl.DataFrame] = _named(self.function)(asked)
        return made

    def digest(self, values: Mapping[str, Any]) -> str:
        """Return a digest of the values, as JSON has them, of inputs, version and cluster."""
        those = {name: values[name] for name in (*self.inputs, "version", "cluster")}
        return hashlib.sha256(json.dumps(those, sort_keys=True).encode()).hexdigest()


def _acls_in_force(asked: GoldInput) -> AclSet:
    return in_force(asked.bindings)


def _index_in_force(asked: GoldInput) -> Index:
    return compile_index(asked.acls.bindings, asked.policy, networks=asked.networks)


def _named(name: str) -> Callable[[GoldInput], Any]:
    """Return what a module of the jobs has, as module:name."""
    module, _, attribute = name.partition(":")
    maker: Callable[[GoldInput], Any]
    maker = getattr(importlib.import_module(f"doorkeeper_pipeline.jobs.{module}"), attribute)
    return maker


TOGETHER = (
    *("observed:BY_PRINCIPAL", "observed:NAMES", "observed:BROKERS", "changed:HOSTS"),
    *("agreement:outcomes", "grants:uses", "grants:touches"),
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
    GoldJob("changed:drift", ("drift",), ("bindings", "since")),
    GoldJob("changed:new_access", ("new_access",), ("decisions", "since")),
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
            "gaps",
            "thresholds",
            "sensitive",
        ),
    ),
    GoldJob("denied:denied_accesses", ("denied",), _DECIDED),
    GoldJob("least_privilege:least_privilege", ("least_privilege",), _DECIDED),
)
"""The other jobs, in the order in which they run."""
