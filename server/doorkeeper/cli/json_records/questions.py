"""The JSON of questions about ACLs and principals."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from doorkeeper.acls.formats.records import AclRecord


class Policy(TypedDict):
    """The settings that decisions depend on; superUsers is null if they are not known."""

    superUsers: list[str] | None
    superUsersFrom: str
    allowEveryone: bool
    allowEveryoneFrom: str


class State(TypedDict):
    """The ACLs that an answer is about; kafka is the release whose rules apply."""

    examined: int
    source: str
    acls: int
    revision: int | None
    note: str | None
    policy: Policy
    kafka: str


class Question(TypedDict):
    """A request."""

    principal: str
    host: str
    operation: str
    resourceType: str
    name: str


class Decision(TypedDict):
    """A decision, its rule, and the ACL that decided; null if none did."""

    allowed: bool
    rule: str
    binding: AclRecord | None


class DecidedQuestion(Question, Decision):
    """A request and its decision."""


class Case(Decision):
    """The decision on an example: a name and the host of a client."""

    name: str
    host: str


class NearMiss(TypedDict):
    """Another principal, whose name differs little."""

    principal: str
    differences: list[str]
    acls: int
    superUser: bool


class Considered(AclRecord):
    """An ACL that covers the resource, and whether it bears on the request."""

    bearing: str
    says: str


class AclCommands(TypedDict):
    """A change of ACLs, and the commands that make it."""

    add: list[AclRecord]
    remove: list[AclRecord]
    kafkaAcls: list[str]
    doorkeeper: list[str]


class Flip(AclCommands):
    """The changes that reverse a decision, and what else they change."""

    sideEffects: list[str]


class Explanation(TypedDict):
    """A decision with its reason."""

    question: Question
    allowed: bool
    rule: str
    because: str
    binding: AclRecord | None
    impliedBy: list[str]
    considered: list[Considered]
    nearMisses: list[NearMiss]
    flip: Flip


class Explained(Explanation, State):
    """The answer of explain; before is that without --with and --without."""

    before: NotRequired[Explanation]


class Names(TypedDict):
    """Names, as the pattern that covers them."""

    name: str
    patternType: str


class Requests(Names):
    """Names and hosts with one decision; those of exceptNames and exceptHosts are in others."""

    allowed: bool
    resourceType: str
    exceptNames: list[Names]
    host: str
    exceptHosts: list[str]


class VerdictRegion(Requests):
    """The requests of an operation with one decision."""

    operation: str


class Need(TypedDict):
    """A permission, and its verdict: always, never or sometimes, with an example of each case.

    The name is null where the client chooses it. regions say where it is allowed sometimes.
    """

    operation: str
    resourceType: str
    name: str | None
    patternType: str
    verdict: str
    cases: list[Case]
    regions: list[VerdictRegion]


class TaskAnswer(TypedDict):
    """The verdict on several permissions, or on many names and hosts."""

    verdict: str
    needs: list[Need]


class ExplainedTask(TaskAnswer, State):
    """The answer of explain about many names, hosts, or a task."""

    nearMisses: list[NearMiss]


class Principal(Decision):
    """A principal, the hosts from which it is allowed, and the decision about one of them."""

    principal: str
    everywhere: bool
    hosts: list[str]
    notFrom: list[str]
    superUser: bool


class Principals(State):
    """The answer of who-can."""

    who: list[Principal]


class PrincipalVerdict(TypedDict):
    """The verdict on a principal, with an example of each answer.

    regions say where it is allowed sometimes.
    """

    principal: str
    verdict: str
    superUser: bool
    cases: list[ResourceCase]
    regions: list[VerdictRegion]


class ResourceCase(Case):
    """An example with its permission."""

    operation: str
    resourceType: str


class PrincipalVerdicts(State):
    """The answer of who-can about many names, hosts, or a task."""

    who: list[PrincipalVerdict]


class Power(TypedDict):
    """The operations on a pattern that are always allowed, and those from some hosts only."""

    resourceType: str
    name: str
    patternType: str
    operations: list[str]
    sometimes: list[str]
    denied: list[str]


class Powers(State):
    """The answer of what-can."""

    can: list[Power]


class TaskPowers(TaskAnswer, State):
    """The answer of what-can about a resource or a task."""


class Fix(AclCommands):
    """What to do about a finding, in words, as ACLs and as commands."""

    words: str


class Finding(TypedDict):
    """A finding of lint: its code, the page that explains it, the ACLs, and the fix."""

    code: str
    page: str
    title: str
    severity: str
    reason: str
    bindings: list[AclRecord]
    fix: Fix


class Findings(State):
    """The findings of lint."""

    findings: list[Finding]


class Rule(TypedDict):
    """A rule, its line in the file, and the requests that break it.

    ``newlyBrokenBy`` are the requests that did not break it before; null if there is no state
    before, or the rule holds.
    """

    rule: str
    line: int
    words: str
    reason: str | None
    holds: bool
    counterexamples: list[DecidedQuestion]
    newlyBrokenBy: list[DecidedQuestion] | None


class CheckedRules(State):
    """The answer of assert."""

    rules: list[Rule]


class AclSet(TypedDict):
    """A set of ACLs, which other commands read; place and revision say where it is from."""

    version: int
    place: NotRequired[str]
    revision: NotRequired[int | None]
    acls: list[AclRecord]
    topics: NotRequired[list[dict[str, Any]]]
    users: NotRequired[list[dict[str, Any]]]
    quotas: NotRequired[list[dict[str, Any]]]


class TriedRule(TypedDict):
    """A rule of the broker for names, and what it gave."""

    rule: str
    name: str | None
    result: str


class NameRules(TypedDict):
    """The key with the rules, and each rule in its order."""

    key: str
    tried: list[TriedRule]


class LiveAnswer(TypedDict):
    """The answer of a broker."""

    address: str
    accepted: bool
    refusal: str | None
    principal: str | None
    evidence: str | None


class PrincipalAcls(TypedDict):
    """The ACLs of a principal, and those of everyone; null where they could not be read."""

    source: str
    number: int | None
    own: list[AclRecord] | None
    everyone: list[AclRecord] | None
    superUser: bool | None
    superUsersFrom: str | None
    nearMisses: list[NearMiss]


class WhoAmI(TypedDict):
    """The principal that a broker sees, and why."""

    principal: str | None
    basis: str | None
    outcome: str
    inferred: str | None
    because: str
    subject: dict[str, str] | None
    listener: str | None
    rules: NameRules | None
    assumed: list[str]
    live: LiveAnswer | None
    note: str | None
    acls: PrincipalAcls | None
