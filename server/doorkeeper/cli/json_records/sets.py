"""The JSON of commands that compare and change sets of ACLs."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from doorkeeper.acls.formats.records import AclRecord
from doorkeeper.cli.json_records.questions import Decision, Policy, Question, Requests, Rule


class Side(TypedDict):
    """A set of ACLs: its address, and the revision of a store."""

    place: str
    revision: int | None


class EntityChange(TypedDict):
    """A topic, user or quota before and after, as in a file of ACLs; null where there is none."""

    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Example(Question):
    """A request whose decision changes."""

    before: Decision
    after: Decision


class Region(Requests):
    """Requests whose decision changes: allowed says which way."""

    principal: str
    operations: list[str]
    example: Example


class Policies(TypedDict):
    """The settings that decisions depend on, of both sides."""

    before: Policy
    after: Policy


class ChangedDecisions(TypedDict):
    """The regions of requests whose decisions change."""

    effective: list[Region]
    policies: Policies


class EntityChanges(TypedDict):
    """Changes of topics, users and quotas; a section without any is left out."""

    topics: NotRequired[list[EntityChange]]
    users: NotRequired[list[EntityChange]]
    quotas: NotRequired[list[EntityChange]]


class Changes(EntityChanges):
    """The changes from one set to another; kept ACLs stay, foreign ones are not owned."""

    version: int
    added: list[AclRecord]
    removed: list[AclRecord]
    kept: int
    foreign: int


class Refusal(TypedDict):
    """What apply refuses a plan for: the word of --accept that permits it, and the reason."""

    rule: str
    reason: str


class Plan(Changes, Side):
    """A plan or a difference; it is the file of a plan too.

    cluster is the id of the cluster at place, null if it is not known.
    """

    cluster: str | None
    wanted: Side
    refused: NotRequired[list[Refusal]]
    examined: int
    unowned: NotRequired[list[AclRecord]]
    effective: NotRequired[list[Region]]
    policies: NotRequired[Policies]
    rules: NotRequired[list[Rule]]
    policy: NotRequired[Policy]


class EffectiveDifference(ChangedDecisions):
    """The decisions that change: the answer of diff --effective."""

    before: Side
    after: Side
    examined: int


class Failure(TypedDict):
    """A change that was refused or held back, and why."""

    change: str
    error: str


class Applied(Changes):
    """The changes of apply, import or undo, and what was done of them.

    added and removed are planned ones; made counts those that were made. Nothing is made with
    --dry-run, or if nothing differs.
    """

    dryRun: bool
    made: int
    failed: list[Failure]


class Added(TypedDict):
    """The ACLs that add has added, and those that existed."""

    added: list[AclRecord]
    existing: list[AclRecord]


class Removed(TypedDict):
    """The ACLs that remove has removed."""

    removed: list[AclRecord]


class LearntAcl(AclRecord):
    """An ACL, and the requests that need it, in words."""

    because: str


class Learnt(TypedDict):
    """The least ACLs: with --check those that are missing.

    newlyAllows is null if they were not compared with the ACLs in force.
    """

    acls: list[LearntAcl]
    newlyAllows: list[str] | None
