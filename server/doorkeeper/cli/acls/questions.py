"""``doorkeeper acls explain``, ``who-can`` and ``what-can``.

The code that decides on a server gives the answers. Nothing is changed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.access import Access, Power
from doorkeeper.acls.access import what_can as permissions_of
from doorkeeper.acls.access import who_can as principals_with
from doorkeeper.acls.by_type import allowed_on_some
from doorkeeper.acls.cases import Verdict
from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.decision import explain as explain_decision
from doorkeeper.acls.effective_changes import DecisionState
from doorkeeper.acls.explanation import apply_change, explanation
from doorkeeper.acls.formats.csv import binding_of_row
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import (
    ANY_BINDING,
    ANY_HOST,
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    ResourceType,
)
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper.acls.search import find
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.acls.tasks import TaskNeed, task_access, task_answer
from doorkeeper.cli.acls.addresses import (
    ADDRESSES,
    Location,
    at_option,
    doubt_note,
    location_options,
    read_at,
    take_location,
    unknown_note,
)
from doorkeeper.cli.acls.explanations import Answer, decision_record, lines_of, record_of, sentence
from doorkeeper.cli.acls.near_misses import near_miss_lines, near_misses_in
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.acls.question_options import (
    EffectivePolicy,
    effective_policy,
    host_option,
    network_option,
    operation_option,
    policy_options,
    principal_option,
    release_option,
    resource_type_of,
)
from doorkeeper.cli.acls.tasks import (
    lines_of_access,
    lines_of_answer,
    lines_of_needs,
    need_options,
    record_of_access,
    record_of_answer,
    regions_of_access,
    take_needs,
)
from doorkeeper.cli.completion import files
from doorkeeper.cli.inspection import Examined
from doorkeeper.cli.json_records.questions import (
    Explained,
    ExplainedTask,
    Powers,
    Principal,
    Principals,
    PrincipalVerdicts,
    State,
    TaskPowers,
)
from doorkeeper.cli.json_records.questions import Power as PowerRecord
from doorkeeper.cli.options import STATUSES
from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.repository import AclContents
from doorkeeper.cli.terminal import fail, paint, printable, say, show, show_json
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option, with_options
from doorkeeper.cli.vocabulary.progress import progress
from doorkeeper.server.config.keys import ALLOW_EVERYONE_IF_NO_ACL_FOUND
from doorkeeper.server.schema.features import LEVELS, NEWEST, OLDEST, has_networks

# 1 and 2 are failures and wrong usage, as in every command.
DENIED: Final = 3
"""The status of ``explain --exit-status`` for a denied request."""

POLICY_HELP: Final = f"""
A store can be read while its server is running. It also holds super.users and
allow.everyone.if.no.acl.found. For files and live clusters, give them with --config FILE, or
--super-user and --allow-everyone. Each answer ends with the values that it is based on.
{ADDRESSES}"""
"""The part of help texts that explains addresses and the policy."""

# Begins the note on a row of --without that is not in the set; the console shows such rows apart.
ABSENT: Final = "--without: no such ACL: "


class AclState(Struct, frozen=True):
    """The ACLs at a location, and the policy that decides besides them."""

    location: Location
    description: str
    contents: AclContents
    note: str | None
    policy: EffectivePolicy
    snapshot: Snapshot

    def lines(self) -> list[str]:
        """Return the origin of an answer as lines."""
        lines = [f"ACLs: {len(self.snapshot)}, of {self.description}"]
        if self.contents.revision is not None:
            lines.append(f"revision: {self.contents.revision}")
        lines += self.policy.lines()
        if self.snapshot.networks:
            lines.append(f"networks as hosts: by the rules of Kafka {self.release}")
        return lines if self.note is None else [*lines, f"note: {self.note}"]

    @property
    def release(self) -> str:
        """Return the release of Kafka whose rules count."""
        return NEWEST if self.snapshot.matches_networks else OLDEST

    @property
    def decisions(self) -> DecisionState:
        return DecisionState(self.policy.policy, self.snapshot)

    @property
    def examined(self) -> Examined:
        """Return the number of ACLs, for commands that check them."""
        return Examined(len(self.snapshot), f"{self.description}: no ACLs to check")

    def record(self) -> State:
        """Return the origin of an answer for JSON."""
        return {
            "examined": self.examined.number,
            "source": self.description,
            "acls": len(self.snapshot),
            "revision": self.contents.revision,
            "note": self.note,
            "policy": self.policy.record(),
            "kafka": self.release,
        }


state_options = with_options(
    location_options(has_policy=True), policy_options, release_option, at_option
)
"""The options of a location and a policy; ``take_state`` reads them."""


def take_state(options: dict[str, Any], *, status: int = 1) -> AclState:
    """Return the state that options name, and take them out of the dictionary.

    If the ACLs cannot be read, the process ends with ``status``.
    """
    super_users, allow_everyone = options.pop("super_users"), options.pop("allow_everyone")
    release: str | None = options.pop("release")
    location = take_location(options, has_policy=True)
    try:
        configured = location.configured_policy()
        reading = read_at(location)
    except RepositoryError as error:
        fail(error.problems, status)
    contents = reading.contents
    # A store has a policy, with its dynamic values; other addresses can have a configuration.
    policy = effective_policy(
        contents.policy or configured,
        super_users,
        allow_everyone=allow_everyone,
        source=contents.policy_from,
    )
    networks = contents.networks is not False
    if release is not None:
        networks = has_networks(LEVELS[release])
    snapshot = reading.snapshot.with_network_matching(enabled=networks)
    notes = list(_notes_on(contents))
    if policy.super_users is None and contents.login is not None:
        notes += filter(None, [login_note(contents.login, snapshot)])
    note = "; ".join(notes) or None
    return AclState(location, reading.description, contents, note, policy, snapshot)


def _notes_on(contents: AclContents) -> Iterator[str]:
    """Yield what an answer from contents leaves out or does not know."""
    if contents.note is not None:
        yield contents.note
    if contents.authorizer is not None:
        yield (
            f"the server's authorizer is {contents.authorizer}; this is the answer of"
            " StandardAuthorizer for the same ACLs"
        )
    if contents.unknown:
        yield unknown_note(contents.unknown)
    if contents.doubtful:
        yield doubt_note(len(contents.doubtful))


def _say_if_prefix(snapshot: Snapshot, need: TaskNeed) -> None:
    """Note that the answer is about one name where a prefix is more likely meant."""
    if need.names is None or not need.names.is_single:
        return
    kind, name = need.resource_type, need.names.text
    # Of the index, since a search looks at all ACLs.
    if name.endswith(("-", ".", "_")) or snapshot.types[kind].patterns.prefixes.get(name):
        say(
            f"note: the answer is for the name {printable(name)!r} only; for all names that begin"
            " with it, add --resource-pattern-type prefixed"
        )


def _say_if_not_asked(snapshot: Snapshot, question: Question) -> None:
    """Note that InitProducerId asks for IDEMPOTENT_WRITE only of who may write no topic."""
    principal, host, operation, _, _ = question
    if operation is AclOperation.IDEMPOTENT_WRITE and allowed_on_some(
        snapshot, ResourceType.TOPIC, AclOperation.WRITE, principal=principal, host=host
    ):
        say(
            "note: since Kafka 2.8, InitProducerId does not require it from a principal with"
            f" WRITE on any topic; {printable(principal)} has WRITE on a topic, so idempotent"
            " producers work"
        )


def login_note(login: str, snapshot: Snapshot) -> str | None:
    """Return what follows from the answer of a cluster to a login that no ACL allows to ask."""
    cluster = (AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    if any(
        access.principal in (login, WILDCARD_PRINCIPAL)
        for access in principals_with(Policy(), snapshot, *cluster)
    ):
        return None
    # Where an ACL is about the cluster, allow.everyone.if.no.acl.found decides nothing there.
    is_decided = any(
        binding.pattern.resource_type is ResourceType.CLUSTER
        for binding in find(snapshot, ANY_BINDING)
    )
    other = "" if is_decided else f", {ALLOW_EVERYONE_IF_NO_ACL_FOUND} is true"
    return (
        f"{printable(login)} may describe the ACLs although no ACL allows it, so it is a super"
        f" user{other}, or the authorizer does not decide by ACLs alone"
    )


@click.command(
    cls=Command,
    epilog=f"""{POLICY_HELP}
An ACL is written as a row, as in the output: KafkaPrincipal,ResourceType,PatternType,ResourceName,
Operation,PermissionType,Host.

\b
Exit statuses: 0 answered; 1 failed, with the reason on stderr; 2 wrong usage;
3 denied, with --exit-status; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper acls explain store:data --principal User:alice --operation Read --topic orders
  doorkeeper acls explain acls.txt --principal User:alice --operation Read --topic orders \\
                          --host 10.0.0.7 --super-user 'User:admin'
  doorkeeper acls explain acls.yaml --principal User:bob --task produce-transactional \\
                          --topic pii- --resource-pattern-type prefixed
  doorkeeper acls explain kafka://localhost:9092 --principal User:alice --operation Write \\
                          --topic orders --with 'User:alice,TOPIC,PREFIXED,ord,WRITE,ALLOW,*'
""",
)
@principal_option
@operation_option
@need_options
@host_option
@named_option("--with", "added", multiple=True, shell_complete=files)
@named_option("--without", "removed", multiple=True, shell_complete=files)
@state_options
@json_output(Explained, ExplainedTask)
@named_option("--exit-status", is_flag=True)
def explain(
    principal: str,
    operation: AclOperation | None,
    host: str,
    added: tuple[str, ...],
    removed: tuple[str, ...],
    output: str,
    *,
    exit_status: bool,
    **options: Any,
) -> None:
    """Explain why a request is allowed or denied, and how to reverse the decision."""
    needs = take_needs(options, operation)
    state = take_state(options)
    _say_if_prefix(state.snapshot, needs[0])
    names = needs[0].names
    if operation is None or names is None or not names.is_single or "/" in host:
        changed = _change(state.decisions, added, removed)
        with progress("deciding"):
            task = task_answer(*changed, principal, host, needs)
        misses = near_misses_in(changed, principal)
        if output == "json":
            answer: ExplainedTask = {
                **record_of_answer(task, principal, host, changed),
                "nearMisses": misses,
                **state.record(),
            }
            show_json(answer)
        else:
            lines = lines_of_answer(task, principal, host, changed)
            show([*lines, *near_miss_lines(misses), *state.lines()])
        if exit_status and task.verdict is not Verdict.ALWAYS:
            raise SystemExit(DENIED)
        return
    question = Question(principal, host, operation, needs[0].resource_type, names.text)
    _say_if_not_asked(state.snapshot, question)
    # The state is read once: both answers are about the same ACLs.
    before = after = _answer(state.decisions, question, state.location)
    if added or removed:
        after = _answer(_change(state.decisions, added, removed), question, state.location)
    if output == "json":
        record = {**record_of(after), **state.record()}
        if added or removed:
            record["before"] = record_of(before)
        show_json(record)
    else:
        head = [f"before: {sentence(before.explanation)}", "after:"] if added or removed else []
        show([*head, *lines_of(after), *state.lines()])
    # Not the default: a denial is an answer, and set -e would end a script at it.
    if exit_status and not after.explanation.decision.allowed:
        raise SystemExit(DENIED)


def _answer(state: DecisionState, question: Question, location: Location) -> Answer:
    return Answer(explanation(*state, question), state, location)


def _change(state: DecisionState, added: Sequence[str], removed: Sequence[str]) -> DecisionState:
    if not added and not removed:
        return state
    changes = take_changes(added, removed, find(state.snapshot, ANY_BINDING))
    return state._replace(snapshot=apply_change(state.snapshot, *changes))


def take_changes(
    added: Sequence[str], removed: Sequence[str], bindings: Iterable[AclBinding]
) -> tuple[list[AclBinding], list[AclBinding]]:
    """Return the ACLs of --with and --without, which are rows or files.

    Removing an absent ACL changes nothing, which is more likely a typing error than a wish: it is
    reported.
    """
    old = [binding for text in removed for binding in _acls_of(text)]
    present = set(bindings) if old else set()
    for binding in sorted(set(old).difference(present)):
        say(_absent_line(binding, present))
    return [binding for text in added for binding in _acls_of(text)], old


def _absent_line(binding: AclBinding, present: Iterable[AclBinding]) -> str:
    """Return the note on an ACL that is absent, with one that is not.

    A host that was left out is what most rows get wrong.
    """
    similar = sorted(
        other
        for other in present
        if other.pattern == binding.pattern
        and other.entry.principal == binding.entry.principal
        and other.entry.operation == binding.entry.operation
    )
    hint = f"; did you mean {row(similar[0])}?" if similar else ""
    return f"{ABSENT}{row(binding)}{hint}"


def _acls_of(text: str) -> list[AclBinding]:
    """Return the ACLs of a file, if there is one of this name, or else of a row."""
    if "," not in text or os.path.exists(text):  # noqa: PTH110  a row may be too long for a Path
        repository = Location(Address(AddressKind.FILE, text)).repository()
        return asyncio.run(repository.read()).bindings
    try:
        return [binding_of_row(text)]
    except FormatError as error:
        raise RepositoryError(f"{text}: not a file, and not a row: {error}") from error


@click.command(
    cls=Command,
    name="who-can",
    epilog=f"""
User:* stands for all principals that no ACL names.
{POLICY_HELP}{STATUSES}
\b
Examples:
  doorkeeper acls who-can store:data --operation Write --topic orders
  doorkeeper acls who-can acls.csv --operation Alter --cluster --output json
  doorkeeper acls who-can kafka://broker:9092 --command-config admin.properties \\
                          --operation Read --topic orders
""",
)
@operation_option
@need_options
@network_option
@state_options
@json_output(Principals, PrincipalVerdicts)
def who_can(
    operation: AclOperation | None,
    host: str | None,
    output: str,
    **options: Any,
) -> None:
    """List the principals that may use a resource, and their hosts.

    With --resource-pattern-type prefixed, --host or --task, each principal is listed as allowed
    always or sometimes, with examples and the deciding ACLs.
    """
    needs = take_needs(options, operation)
    state = take_state(options)
    _say_if_prefix(state.snapshot, needs[0])
    names = needs[0].names
    if operation is not None and names is not None and names.is_single and host is None:
        _list_principals(state, operation, needs[0].resource_type, names.text, output)
        return
    decisions, client = state.decisions, WILDCARD if host is None else host
    with progress("deciding"):
        accesses = task_access(*decisions, client, needs)
        regions = regions_of_access(decisions, accesses, client, needs)
    if output == "json":
        verdicts: PrincipalVerdicts = {
            "who": [record_of_access(access, regions, decisions) for access in accesses],
            **state.record(),
        }
        show_json(verdicts)
        return
    lines = [line for access in accesses for line in lines_of_access(access, regions, decisions)]
    show([*(lines or ["none"]), "", *state.lines()])


def _list_principals(
    state: AclState, operation: AclOperation, kind: ResourceType, name: str, output: str
) -> None:
    decisions, super_users = state.decisions, state.policy.policy.super_users
    accesses = principals_with(*decisions, operation, kind, name)
    if output == "json":

        def question_of(access: Access) -> Question:
            return Question(access.principal, access.client, operation, kind, name)

        rows: list[Principal] = [
            {
                "principal": access.principal,
                "everywhere": access.everywhere,
                "hosts": list(access.hosts),
                "notFrom": list(access.not_from),
                "superUser": access.principal in super_users,
                **decision_record(explain_decision(*decisions, question_of(access))),
            }
            for access in accesses
        ]
        principals: Principals = {"who": rows, **state.record()}
        show_json(principals)
        return
    lines = [_access_line(access, is_super=access.principal in super_users) for access in accesses]
    show([*(lines or ["none"]), "", *state.lines()])


def _access_line(access: Access, *, is_super: bool) -> str:
    note = "  (super user)" if is_super else ""
    return f"{paint(printable(access.principal), 'green')}  {_hosts(access)}{note}"


def _hosts(access: Access) -> str:
    if not access.everywhere:
        return f"from {', '.join(map(printable, access.hosts))}"
    if access.not_from:
        return f"from all hosts except {', '.join(map(printable, access.not_from))}"
    return "from all hosts"


_TYPES = [kind.name.lower().replace("_", "-") for kind in ResourceType if kind > ResourceType.ANY]


@click.command(
    cls=Command,
    name="what-can",
    epilog=f"""
The operations of a row apply to names that its pattern matches, except names that a narrower row
matches.
{POLICY_HELP}{STATUSES}
\b
Examples:
  doorkeeper acls what-can store:data --principal User:alice
  doorkeeper acls what-can acls.csv --principal User:alice --host 10.0.0.7 --resource-type topic
""",
)
@principal_option
@host_option
@named_option(
    "--resource-type",
    "resource_types",
    type=click.Choice(_TYPES),
    multiple=True,
    default_text="all",
)
@need_options
@state_options
@json_output(Powers, TaskPowers)
def what_can(
    principal: str,
    host: str,
    resource_types: tuple[str, ...],
    output: str,
    **options: Any,
) -> None:
    """List the permissions of a principal, pattern by pattern.

    With a resource, a prefix or --task, each operation is listed as allowed always, sometimes or
    never, with examples and the deciding ACLs.
    """
    needs = _needs_of_all_operations(options, resource_types)
    state = take_state(options)
    decisions = state.decisions
    if needs is not None:
        _say_if_prefix(state.snapshot, needs[0])
        with progress("deciding"):
            task = task_answer(*decisions, principal, host, needs)
        if output == "json":
            answer: TaskPowers = {
                **record_of_answer(task, principal, host, decisions),
                **state.record(),
            }
            show_json(answer)
        else:
            of_needs = lines_of_needs(task, principal, host, decisions)
            show([*of_needs, "", f"permissions of {_subject(principal, host)}", *state.lines()])
        return
    kinds = [ResourceType[word.upper().replace("-", "_")] for word in resource_types]
    powers = [
        power
        for kind in dict.fromkeys(kinds or [ResourceType.ANY])
        for power in permissions_of(*decisions, principal, host, kind)
    ]
    if output == "json":
        allowed: Powers = {"can": _records(powers), **state.record()}
        show_json(allowed)
        return
    lines = [*map(_power_line, powers)] or ["none"]
    notes = []
    bindings = find(state.snapshot, ANY_BINDING)
    if not any(binding.entry.principal == principal for binding in bindings):
        notes.append(f"note: no ACL names {printable(principal)}")
        notes += near_miss_lines(near_misses_in(decisions, principal))
    if any(power.sometimes for power in powers):
        notes.append("note: for the hosts of an operation, use doorkeeper acls who-can")
    show([*lines, "", f"permissions of {_subject(principal, host)}", *notes, *state.lines()])


def _subject(principal: str, host: str) -> str:
    is_other = principal == WILDCARD_PRINCIPAL
    subject = "all principals that no ACL names" if is_other else printable(principal)
    return subject if host == ANY_HOST else f"{subject} from {host}"


def _needs_of_all_operations(
    options: dict[str, Any], resource_types: Sequence[str]
) -> Sequence[TaskNeed] | None:
    """Return the needs of the options of a resource; None if they are not there."""
    if options["task"] is not None:
        if resource_types:
            raise click.UsageError("--resource-type cannot be combined with --task")
        return take_needs(options, None, names_needed=False)
    if (kind := resource_type_of(options)) is None:
        if options["pattern"] != "literal":
            raise click.UsageError("--resource-pattern-type requires a resource or --task")
        return None
    if resource_types:
        raise click.UsageError("--resource-type cannot be combined with a resource")
    first, *others = SUPPORTED_OPERATIONS[kind]
    [need] = take_needs(options, first)
    return [need, *(replace(need, operation=host) for host in others)]


def _power_line(power: Power) -> str:
    (kind, name, pattern_type), operations, sometimes, _ = power
    words = ", ".join(operation.name for operation in operations) or "none"
    if sometimes:
        words += f"; from some hosts only: {', '.join(operation.name for operation in sometimes)}"
    return f"{kind.name} {pattern_type.name} {paint(printable(name), 'cyan')}  {words}"


def _records(powers: Iterable[Power]) -> list[PowerRecord]:
    return [
        {
            "resourceType": kind.name,
            "name": name,
            "patternType": pattern_type.name,
            "operations": [operation.name for operation in operations],
            "sometimes": [operation.name for operation in sometimes],
            "denied": [operation.name for operation in denied],
        }
        for (kind, name, pattern_type), operations, sometimes, denied in powers
    ]
