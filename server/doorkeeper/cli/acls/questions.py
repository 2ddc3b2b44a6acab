"""``doorkeeper acls explain``, ``who-can`` and ``what-can``.

The code that decides on a server gives the answers. Nothing is changed.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from doorkeeper.acl.access import names_hosts
from doorkeeper.acl.access import what_can as permissions_of
from doorkeeper.acl.access import who_can as principals_with
from doorkeeper.acl.bulk import load
from doorkeeper.acl.explanation import ANY_HOST, apply_change, explanation
from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.model import WILDCARD_PRINCIPAL, AclOperation, ResourceType
from doorkeeper.acl.name_cases import NamesVerdict
from doorkeeper.cli.acls.addresses import (
    ADDRESSES,
    Location,
    at_option,
    location_options,
    take_location,
    unknown_note,
)
from doorkeeper.cli.acls.explanations import Answer, lines_of, record_of, sentence
from doorkeeper.cli.acls.printing import binding_of_row, row
from doorkeeper.cli.acls.question_options import (
    EffectivePolicy,
    effective_policy,
    host_option,
    operation_option,
    operation_or_task_option,
    policy_options,
    principal_option,
    resource_option,
    take_resource,
)
from doorkeeper.cli.acls.tasks import (
    findings_of,
    lines_of_findings,
    pattern_option,
    record_of_findings,
    take_needs,
    task_option,
    whole_verdict,
)
from doorkeeper.cli.completion import files
from doorkeeper.cli.options import deprecated_option, output_option
from doorkeeper.cli.terminal import fail, paint, printable, say, show, show_json
from doorkeeper.kinds.features import LEVELS, NEWEST, OLDEST, has_networks
from doorkeeper.repositories.addresses import Address, AddressKind
from doorkeeper.repositories.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from doorkeeper.acl.access import Access, Power
    from doorkeeper.acl.decision import Question
    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.cli.acls.tasks import TaskNeed
    from doorkeeper.repositories.repository import PlacedAcceptance

Command = TypeVar("Command", bound="Callable[..., Any] | click.Command")

# 1 and 2 are failures and wrong usage, as in every command.
DENIED: Final = 3
"""The status of ``explain --exit-status`` for a denied request."""

DEFAULT_ADDRESS: Final = Address(AddressKind.STORE, "data")
"""The store of a server without a configuration."""

_STATUSES = """
\b
Exit statuses: 0 answered; 1 failed, with the reason on stderr; 2 wrong usage;
130 ended by Ctrl-C.
"""
POLICY_HELP: Final = f"""
Without ADDRESS, the ACLs are those of store:data. A store is read while its server runs. It also
holds super.users and allow.everyone.if.no.acl.found; for files and live clusters, --config FILE,
or --super-users and --allow-everyone, give them. Each answer ends with the values that it is based
on.
{ADDRESSES}"""
"""The part of help texts that explains addresses and the policy."""


class AclState(NamedTuple):
    """The ACLs at a location, and the policy that decides besides them."""

    location: Location
    description: str
    note: str | None
    policy: EffectivePolicy
    snapshot: Snapshot
    revision: int | None
    accepted: tuple[PlacedAcceptance, ...] = ()

    def lines(self) -> list[str]:
        """Return the origin of an answer as lines."""
        lines = [f"ACLs: {len(self.snapshot)}, of {self.description}"]
        if self.revision is not None:
            lines.append(f"revision: {self.revision}")
        lines += self.policy.lines()
        if self.snapshot.networks:
            lines.append(f"rules: those of Kafka {self.release}, for hosts that are networks")
        return lines if self.note is None else [*lines, f"note: {self.note}"]

    @property
    def release(self) -> str:
        """Return the release of Kafka whose rules count."""
        return NEWEST if self.snapshot.matches_networks else OLDEST

    def record(self) -> dict[str, Any]:
        """Return the origin of an answer for JSON."""
        return {
            "source": self.description,
            "acls": len(self.snapshot),
            "revision": self.revision,
            "note": self.note,
            "policy": self.policy.record(),
            "kafka": self.release,
        }


def state_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a location and a policy; ``take_state`` reads them."""
    old = deprecated_option(
        "--file", "ADDRESS, as in doorkeeper acls lint acls.yaml", "acl_file", shell_complete=files
    )
    location = location_options(
        config_help="Shorthand for the address config:FILE, a server.properties. Beside the address"
        " of a file or a live cluster: the source of super.users and the like."
    )
    release = click.option(
        "--kafka",
        "release",
        type=click.Choice(list(LEVELS)),
        help="The release of Kafka whose rules count: from 4.4 on a host may be a network."
        f"  [default: that of the store or cluster; {NEWEST} for files]",
    )
    return location(policy_options(release(old(at_option(command)))))


def take_state(
    options: dict[str, Any], *, status: int = 1, bare_principals: bool = False
) -> AclState:
    """Return the state that options name, and take them out of the dictionary.

    If the ACLs cannot be read, the process ends with ``status``.
    """
    super_users, allow_everyone = options.pop("super_users"), options.pop("allow_everyone")
    release: str | None = options.pop("release")
    # The old spelling of an ADDRESS, whose value is always the name of a file.
    file: str | None = options.pop("acl_file")
    if file is not None:
        if options["address"] is not None:
            raise click.UsageError("--file and ADDRESS both name ACLs; give one of them")
        options["address"] = Address(AddressKind.FILE, file)
    location = take_location(options, default=DEFAULT_ADDRESS, has_policy=True)
    try:
        configured = location.configured_policy()
        repository = location.repository(bare_principals=bare_principals)
        contents = asyncio.run(repository.read())
    except RepositoryError as error:
        fail(error.problems, status)
    # A store has a policy, with its dynamic values; other addresses can have a configuration.
    policy = effective_policy(
        contents.policy or configured,
        super_users,
        allow_everyone=allow_everyone,
        source=contents.policy_from,
    )
    note = contents.note
    if contents.authorizer is not None:
        note = (
            f"the server's authorizer is {contents.authorizer}; the answer is that of"
            " StandardAuthorizer for the same ACLs"
        )
    elif contents.unknown:
        note = unknown_note(contents.unknown)
    networks = contents.networks is not False
    if release is not None:
        networks = has_networks(LEVELS[release])
    snapshot = snapshot_of(contents.bindings).with_network_matching(enabled=networks)
    description = repository.description
    return AclState(
        location, description, note, policy, snapshot, contents.revision, contents.accepted
    )


def snapshot_of(bindings: Iterable[AclBinding]) -> Snapshot:
    """Return a snapshot of these bindings, with empty ids."""
    return load(("", each) for each in bindings)


@click.command(
    epilog=f"""{POLICY_HELP}
An ACL is written as a row, as in the output: KafkaPrincipal,ResourceType,PatternType,ResourceName,
Operation,PermissionType,Host.

\b
Exit statuses: 0 answered; 1 failed, with the reason on stderr; 2 wrong usage;
3 denied, with --exit-status; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper acls explain --principal User:alice --operation Read --topic orders
  doorkeeper acls explain acls.txt --principal User:alice --operation Read --topic orders \\
                          --host 10.0.0.7 --super-users 'User:admin'
  doorkeeper acls explain acls.yaml --principal User:bob --task produce-transactional \\
                          --topic pii- --resource-pattern-type prefixed
  doorkeeper acls explain kafka://localhost:9092 --principal User:alice --operation Write \\
                          --topic orders --with 'User:alice,TOPIC,PREFIXED,ord,WRITE,ALLOW,*'
"""
)
@principal_option
@operation_or_task_option
@task_option
@resource_option
@pattern_option
@host_option
@click.option(
    "--with",
    "added",
    metavar="ROW|FILE",
    multiple=True,
    shell_complete=files,
    help="Answer as if this ACL, or those of a file, were added; may be repeated.",
)
@click.option(
    "--without",
    "removed",
    metavar="ROW|FILE",
    multiple=True,
    shell_complete=files,
    help="Answer as if this ACL, or those of a file, were removed; may be repeated.",
)
@state_options
@output_option
@click.option(
    "--exit-status",
    is_flag=True,
    help=f"Exit with {DENIED} if the request is denied, or not always allowed.",
)
def explain(
    principal: str,
    operation: AclOperation | None,
    host: str,
    added: tuple[str, ...],
    removed: tuple[str, ...],
    output: str,
    *,
    exit_status: bool,
    **options: Any,  # noqa: ANN401  those of resource and state
) -> None:
    """Explain why a request is allowed or denied, and how to reverse the decision."""
    needs = take_needs(options, principal, host, operation)
    state = take_state(options)
    if len(needs) > 1 or needs[0].is_prefixed or operation is None:
        _answer_needs(state, needs, _change(state.snapshot, added, removed), output, exit_status)
        return
    question = needs[0].question
    # The state is read once: both answers are about the same ACLs.
    before = after = _answer(state, state.snapshot, question)
    if added or removed:
        after = _answer(state, _change(state.snapshot, added, removed), question)
    if output == "json":
        found = record_of(after) | state.record()
        if added or removed:
            found["before"] = record_of(before)
        show_json(found)
    else:
        head = [f"before: {sentence(before.explanation)}", "after:"] if added or removed else []
        show([*head, *lines_of(after), *state.lines()])
    # Not the default: a denial is an answer, and set -e would end a script at it.
    if exit_status and not after.explanation.decision.allowed:
        raise SystemExit(DENIED)


def _answer_needs(
    state: AclState,
    needs: Sequence[TaskNeed],
    snapshot: Snapshot,
    output: str,
    exit_status: bool,  # noqa: FBT001  an option
) -> None:
    policy = state.policy.policy
    findings = findings_of(policy, snapshot, needs)
    if output == "json":
        show_json(record_of_findings(findings) | state.record())
    else:
        show([*lines_of_findings(findings, policy, snapshot, state.location), *state.lines()])
    if exit_status and whole_verdict(findings) is not NamesVerdict.ALWAYS:
        raise SystemExit(DENIED)


def _answer(state: AclState, snapshot: Snapshot, question: Question) -> Answer:
    policy = state.policy.policy
    return Answer(explanation(policy, snapshot, question), policy, snapshot, state.location)


def _change(snapshot: Snapshot, added: Sequence[str], removed: Sequence[str]) -> Snapshot:
    try:
        old = [each for text in removed for each in _bindings_of(text)]
        new = [each for text in added for each in _bindings_of(text)]
    except RepositoryError as error:
        fail(error.problems)
    # Removing an absent ACL changes nothing, which is more likely a typing error than a wish.
    for each in old:
        if each not in snapshot:
            say(f"--without: there is no ACL {row(each)}")
    return apply_change(snapshot, new, old)


def _bindings_of(text: str) -> list[AclBinding]:
    """Return the bindings of a file, if there is one of this name, or else of a row."""
    if "," not in text or os.path.exists(text):  # noqa: PTH110  a row may be too long for a Path
        repository = Location(Address(AddressKind.FILE, text)).repository()
        return asyncio.run(repository.read()).bindings
    try:
        return [binding_of_row(text)]
    except FormatError as error:
        raise RepositoryError(f"{text}: neither a file nor a row: {error}") from error


@click.command(
    name="who-can",
    epilog=f"""
User:* stands for all principals that no ACL names.
{POLICY_HELP}{_STATUSES}
\b
Examples:
  doorkeeper acls who-can --operation Write --topic orders
  doorkeeper acls who-can acls.csv --operation Alter --cluster --output json
  doorkeeper acls who-can kafka://broker:9092 --command-config admin.properties \\
                          --operation Read --topic orders
""",
)
@operation_option
@resource_option
@state_options
@output_option
def who_can(operation: AclOperation, output: str, **options: Any) -> None:  # noqa: ANN401  as above
    """List the principals that may use a resource, and their hosts."""
    resource = take_resource(options, operation)
    state = take_state(options)
    super_users = state.policy.policy.super_users
    found = principals_with(state.policy.policy, state.snapshot, operation, *resource)
    if output == "json":
        rows = [
            {
                "principal": each.principal,
                "everywhere": each.everywhere,
                "hosts": list(each.hosts),
                "notFrom": list(each.not_from),
                "superUser": each.principal in super_users,
            }
            for each in found
        ]
        show_json({"who": rows, **state.record()})
        return
    lines = [_access_line(each, is_super=each.principal in super_users) for each in found]
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


_TYPES = [each.name.lower().replace("_", "-") for each in ResourceType if each > ResourceType.ANY]


@click.command(
    name="what-can",
    epilog=f"""
The operations of a row are those for the names that its pattern covers and no narrower row covers.
{POLICY_HELP}{_STATUSES}
\b
Examples:
  doorkeeper acls what-can --principal User:alice
  doorkeeper acls what-can acls.csv --principal User:alice --host 10.0.0.7 --resource-type topic
""",
)
@principal_option
@host_option
@click.option(
    "--resource-type",
    "resource_types",
    type=click.Choice(_TYPES),
    multiple=True,
    help="List only resources of this type; may be repeated.  [default: all]",
)
@state_options
@output_option
def what_can(
    principal: str,
    host: str,
    resource_types: tuple[str, ...],
    output: str,
    **options: Any,  # noqa: ANN401  those of the state
) -> None:
    """List the permissions of a principal, pattern by pattern."""
    state = take_state(options)
    kinds = [ResourceType[each.upper().replace("-", "_")] for each in resource_types]
    found = [
        each
        for kind in dict.fromkeys(kinds or [ResourceType.ANY])
        for each in permissions_of(state.policy.policy, state.snapshot, principal, host, kind)
    ]
    if output == "json":
        show_json({"can": _records(found), **state.record()})
        return
    where = "" if host == ANY_HOST else f" from {host}"
    is_other = principal == WILDCARD_PRINCIPAL
    subject = "all principals that no ACL names" if is_other else printable(principal)
    lines = [*map(_power_line, found)] or ["none"]
    notes = []
    if host == ANY_HOST and names_hosts(state.snapshot, principal):
        notes.append("not counted: ACLs for some hosts only; --host ADDRESS asks from there")
    show([*lines, "", f"permissions of {subject}{where}", *notes, *state.lines()])


def _power_line(power: Power) -> str:
    (kind, name, how), operations = power
    words = ", ".join(each.name for each in operations) or "none"
    return f"{kind.name} {how.name} {paint(printable(name), 'cyan')}  {words}"


def _records(powers: Iterable[Power]) -> list[dict[str, Any]]:
    return [
        {
            "resourceType": kind.name,
            "name": name,
            "patternType": how.name,
            "operations": [each.name for each in operations],
        }
        for (kind, name, how), operations in powers
    ]
