"""The request of a run, its results, and its surroundings.

A run that finds nothing new needs no more than this, so that neither Polars nor Arrow is imported.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS, Thresholds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper_pipeline.engines.contract import Engine
    from doorkeeper_pipeline.evaluation.evidence import Evidence
    from doorkeeper_pipeline.jobs.findings import Group


class RunOptions(NamedTuple):
    """How the cluster decides, and the evidence that a recommendation needs.

    ``networks``: whether hosts of ACLs may be networks, as in Kafka 4.4. ``sensitive``: the
    beginnings of the names of topics that are sensitive. ``excluded``: principals that shares and
    findings leave out.
    """

    policy: Policy = Policy()
    networks: bool = False
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    sensitive: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def values(self) -> dict[str, Any]:
        return {
            "allow_everyone": self.policy.allow_everyone,
            "super_users": sorted(self.policy.super_users),
            "networks": self.networks,
            "thresholds": self.thresholds._asdict(),
            "sensitive": sorted(self.sensitive),
            "excluded": sorted(self.excluded),
        }


def last_options(out: Path | str, cluster: str = "") -> RunOptions:
    """Return the options of the last run into a folder; the defaults where there was none.

    ``cluster`` is empty for the only one.

    Raises:
        Conflicting: there are several clusters, and none of them is given.

    """
    from doorkeeper_pipeline.jobs.belonging import cluster_in
    from doorkeeper_pipeline.tables.delta import Tables

    tables = Tables(out)
    runs = cluster_in(tables, cluster).own(tables.read("runs"))
    texts = runs["asked"].drop_nulls().to_list()
    if not texts:
        return RunOptions()
    options = json.loads(texts[-1])
    return RunOptions(
        Policy(
            super_users=frozenset(options["super_users"]), allow_everyone=options["allow_everyone"]
        ),
        options["networks"],
        # Runs of an earlier release did not keep them.
        Thresholds(**options.get("thresholds", {})),
        tuple(options.get("sensitive", ())),
        tuple(options.get("excluded", ())),
    )


MAX_QUARANTINED = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The options of a run.

    Attributes:
        out: The output folder.
        inputs: Files, folders and patterns of logs and trails; addresses of files and of topics.
        acls: Files of ACL sets and stores; empty keeps the bindings of the last run.
        source: The source of all inputs; None: recognised for each.
        pattern: The layout of log4j of logs that are not recognised without; empty for none.
        zone: The zone of times in logs that have none.
        rebuild: Whether files are read again that are known.
        since: The begin of the window of drift and new_access; None for the last day.
        policy: Super users, and the default without ACLs.
        max_quarantined: The percentage of the lines read now that may go to quarantine.
        thresholds: The evidence that a recommendation to remove an ACL needs.
        sensitive: The beginnings of the names of topics that are sensitive.
        excluded: Principals that the findings leave out.
        accepted: Findings that they leave out, by id: accepted until a day.
        networks: Whether hosts of ACLs may be networks, as in Kafka 4.4.
        cluster: The cluster that the gold tables are about: one that the events name, or a name for
            that of logs that name none; empty for the only one, or that of earlier runs.
        different_servers: Whether audit logs and authorizer logs of the same time are of different
            servers, and count both.
        command_config: A file with the properties of a Kafka client, for topics; empty for none.
        slice_bytes: Bytes of a large file that a task reads; None for the usual ones.

    """

    out: Path | str
    inputs: tuple[str, ...]
    acls: tuple[str, ...] = ()
    source: str | None = None
    pattern: str = ""
    zone: str = "UTC"
    rebuild: bool = False
    since: dt.datetime | None = None
    policy: Policy = field(default_factory=Policy)
    max_quarantined: float = MAX_QUARANTINED
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    sensitive: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    accepted: Mapping[str, dt.date] = field(default_factory=dict)
    networks: bool = False
    cluster: str = ""
    different_servers: bool = False
    command_config: str = ""
    slice_bytes: int | None = None

    def kept(self) -> RunOptions:
        """Return the options that stay with the tables."""
        return RunOptions(
            self.policy, self.networks, self.thresholds, self.sensitive, self.excluded
        )

    def reading(self) -> str:
        """Return the options that change how a file is read, as the table ``files`` has them."""
        pattern = {"pattern": self.pattern} if self.pattern else {}
        return json.dumps({"zone": self.zone, **pattern}, sort_keys=True)

    def is_read(self, row: Mapping[str, Any]) -> bool:
        """Return whether an unchanged input, a row of ``files``, was read as it would be now."""
        same = row["options"] == self.reading() and self.source in (None, row["source"])
        return same and not self.rebuild

    def text(self) -> str:
        """Return all that the tables depend on but the inputs' contents."""
        names = (
            *("inputs", "acls", "source", "pattern", "zone", "since", "max_quarantined"),
            *("accepted", "cluster", "different_servers"),
        )
        values = self.kept().values() | {name: getattr(self, name) for name in names}
        return json.dumps(values, sort_keys=True, default=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The results of a run; the same numbers as its row in the table runs.

    ``findings`` are groups, the highest first, and ``lines`` a summary of them and of refusals.
    ``unread`` are the most frequent reasons of lines that went to quarantine, with their numbers.
    """

    run: dict[str, Any]
    rows: dict[str, int]
    gone: tuple[str, ...]
    evidence: Evidence
    findings: tuple[Group, ...] = ()
    lines: tuple[str, ...] = ()
    unread: tuple[tuple[str, int], ...] = ()


@dataclass
class Maintained:
    """What maintain removed: rows by table, and files.

    expired are rows before the day before, forgotten those that each name had. ACLs of the last
    listing name the listed ones. Waiting files of earlier versions stay for now.
    """

    before: dt.date | None = None
    expired: dict[str, int] = field(default_factory=Counter)
    forgotten: dict[str, dict[str, int]] = field(default_factory=dict)
    listed: tuple[str, ...] = ()
    merged_files: int = 0
    written_files: int = 0
    deleted_files: int = 0
    waiting_files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The surroundings of a run: an engine, the time, its id, and the progress output."""

    engine: Engine
    now: Callable[[], dt.datetime]
    run_id: str
    version: str
    tell: Callable[[str], None]
    checkpoint: Callable[[str], None] = lambda _: None
