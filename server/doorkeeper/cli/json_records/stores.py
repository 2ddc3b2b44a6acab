"""The JSON of commands about stores, clusters, audit logs, users and configurations."""

from __future__ import annotations

from typing import TypedDict

from doorkeeper.acls.formats.records import AclRecord
from doorkeeper.cli.json_records.sets import ChangedDecisions


class Backup(TypedDict):
    """A backup that was written, and the folder of its store."""

    backup: str
    store: str


class Restore(TypedDict):
    """A restored store: previous is the kept database, comesBack and goes the changed ACLs.

    others are lines on other changed rows, such as users. They are null if they could not be
    compared.
    """

    store: str
    backup: str
    previous: str | None
    comesBack: list[AclRecord] | None
    goes: list[AclRecord] | None
    others: list[str] | None


class CreatedStore(TypedDict):
    """An empty store; previous is the kept database."""

    store: str
    previous: str | None


class AcceptedStore(TypedDict):
    """A store that servers take for theirs from now on."""

    store: str
    clusterId: str
    storeId: str
    revision: int


class StoreCheck(TypedDict):
    """A sound store, or the problems of one; rows are counted by kind."""

    store: str
    clusterId: str
    storeId: str
    revision: int
    rows: dict[str, int]
    problems: list[str]


class StoreCopy(TypedDict):
    """A copy that equals its source; previous is the kept database."""

    source: str
    target: str
    revision: int
    rows: dict[str, int]
    previous: str | None


class StoreRelease(ChangedDecisions):
    """The release of Kafka that a store follows, and the decisions that the change changed."""

    before: str
    after: str


class Change(TypedDict):
    """A changed row. Further members are the columns of its kind; those of an ACL are an ACL."""

    action: str
    kind: str
    key: str


class Revision(TypedDict):
    """A change of a store: who made it, and its rows."""

    revision: int
    time: str
    principal: str
    host: str
    listener: str
    clientId: str
    software: str
    correlationId: int | None
    node: int | None
    hash: str
    summary: str
    changes: list[Change]


class RevisionPage(TypedDict):
    """Changes, the newest first; before is the revision from which older ones follow, or null.

    missing are ranges of revisions that the log lacks.
    """

    revisions: list[Revision]
    before: int | None
    missing: list[list[int]]


class Verification(TypedDict):
    """The hash chain of a history: the verified revisions, the newest hash, and what is wrong."""

    first: int
    last: int
    hash: str
    pruned: int
    findings: list[str]
    examined: int


class ClusterState(TypedDict):
    """A cluster beside the store: the state of each broker, and the ACLs that differ."""

    name: str
    mode: str
    revision: int | None
    inForce: bool
    failure: str | None
    pollsBecause: str | None
    held: str | None
    notHonoured: list[str]
    brokers: dict[str, str]
    outside: int
    missing: list[str]
    extra: list[str]


class ClusterStates(TypedDict):
    """The answer of clusters status."""

    clusters: list[ClusterState]


class ClusterDrift(ClusterStates):
    """The answer of clusters drift."""

    examined: int


class Adoption(TypedDict):
    """What a store would change on a cluster."""

    name: str
    store: str | None
    cluster: str
    add: list[str]
    remove: list[str]
    outside: int


class Adoptions(TypedDict):
    """The answer of clusters adopt: the id of the store, and the clusters."""

    store: str
    clusters: list[Adoption]


class AuditNode(TypedDict):
    """The numbers of the first and the last event of a node."""

    node: int
    first: int
    last: int


class AuditProblem(TypedDict):
    """A gap, torn line, wrong order, unreadable file, or clock that was set back."""

    kind: str
    node: int
    file: str
    line: int | None
    text: str


class AuditVerdict(TypedDict):
    """The answer of audit verify; problems are at most 1000, and counted by kind."""

    whole: bool
    files: int
    openFiles: int
    events: dict[str, int]
    dropped: int
    nodes: list[AuditNode]
    problemCounts: dict[str, int]
    problems: list[AuditProblem]
    examined: int


class UserChange(TypedDict):
    """A SCRAM user that was added, changed or removed, for these mechanisms."""

    user: str
    mechanisms: list[str]


class Credential(TypedDict):
    """A SCRAM credential."""

    user: str
    mechanism: str
    iterations: int


class Credentials(TypedDict):
    """SCRAM users, a credential for each mechanism."""

    users: list[Credential]


class FileUser(TypedDict):
    """A user that was set or removed in a file; added says that it is new."""

    file: str
    user: str
    added: bool


class FileUsers(TypedDict):
    """The names of the users in a file."""

    users: list[str]


class ConfigCheck(TypedDict):
    """The errors and warnings of a configuration."""

    file: str
    errors: list[str]
    warnings: list[str]


class BrokerFinding(TypedDict):
    """A finding of config check --broker, and the page that explains its code."""

    code: str
    severity: str
    title: str
    file: str
    line: int | None
    key: str | None
    text: str
    page: str


class BrokerCheck(TypedDict):
    """The answer of config check --broker."""

    kafka: str
    files: list[str]
    findings: list[BrokerFinding]


class ConfigValue(TypedDict):
    """A key, its value or null, and its source; secrets are hidden."""

    key: str
    value: str | None
    source: str
    hasEffect: bool


class ConfigValues(TypedDict):
    """All values of a configuration."""

    values: list[ConfigValue]


class ForgottenValue(TypedDict):
    """A dynamic value that was forgotten: of a broker, or of the cluster (null)."""

    key: str
    broker: str | None


class ForgottenValues(TypedDict):
    """The answer of config reset."""

    forgotten: list[ForgottenValue]


class InstalledExample(TypedDict):
    """An example that is installed."""

    name: str
    summary: str


class InstalledExamples(TypedDict):
    """All examples."""

    examples: list[InstalledExample]


class ExampleFiles(TypedDict):
    """The files of an example, or those that were copied."""

    files: list[str]
