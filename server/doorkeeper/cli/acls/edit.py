"""``doorkeeper acls add``, ``remove`` and ``list``: kafka-acls.sh without a JVM.

They print the texts of the tool. An error is a line on stderr; errors of live clusters are printed
as Java's client prints them, with the exception's name and without its trace.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from doorkeeper.acls.filters import known_bindings
from doorkeeper.acls.formats.listing import resource_text
from doorkeeper.acls.formats.records import records, write_json
from doorkeeper.acls.live_changes import OVERRIDES, LiveCluster
from doorkeeper.acls.misleading_names import misleading_in
from doorkeeper.acls.plan import Plan
from doorkeeper.acls.plan_application import apply
from doorkeeper.base.errors import ErrorCode
from doorkeeper.cli.acls.addresses import (
    ADDRESSES,
    at_option,
    location_options,
    reading_progress,
    refuse_file,
    report_doubt,
    take_location,
    unknown_note,
)
from doorkeeper.cli.acls.change_rules import (
    MISSING_AUTHORIZER,
    Acceptance,
    accept_option,
    is_disabled,
    judge,
)
from doorkeeper.cli.acls.options import (
    FAILED,
    KafkaCommand,
    additions,
    check,
    entry_options,
    filters_of,
    listing,
    named_bindings,
    no_force_option,
    no_principal_option,
    principal_option,
    removals,
    resource_options,
)
from doorkeeper.cli.acls.printing import (
    OUTPUTS,
    binding_text,
    entries_text,
    java_text,
    kafka_listing,
    table,
)
from doorkeeper.cli.acls.removal_notes import removal_notes
from doorkeeper.cli.interrupts import fail_without_yes, require_no_question
from doorkeeper.cli.json_records.questions import AclSet
from doorkeeper.cli.json_records.sets import Added, Removed
from doorkeeper.cli.lazy import LazyGroup, Member
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.repository import matching
from doorkeeper.cli.terminal import fail, printable, say, show_json
from doorkeeper.cli.vocabulary.json_output import has_json, json_output
from doorkeeper.cli.vocabulary.options import PATTERN_TYPES, named_option
from doorkeeper.client.errors import NotServed

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from typing import TypeVar

    from doorkeeper.acls.live_changes import Rule
    from doorkeeper.acls.model import (
        AccessControlEntry,
        AclBinding,
        ResourcePattern,
        ResourcePatternFilter,
    )
    from doorkeeper.acls.plan_application import Rules
    from doorkeeper.cli.acls.addresses import Location
    from doorkeeper.cli.repositories.repository import AclContents
    from doorkeeper.cli.repositories.sessions import ClusterSession

    Request = TypeVar("Request")
    Result = TypeVar("Result")


_QUESTIONS = "doorkeeper.cli.acls.questions"
_SETS = "doorkeeper.cli.acls.sets"
_EXPORT = "doorkeeper.cli.acls.export"
_MEMBERS = {
    "explain": Member(f"{_QUESTIONS}:explain", "Explain why a request is allowed or denied."),
    "who-can": Member(f"{_QUESTIONS}:who_can", "List the principals that may use a resource."),
    "what-can": Member(f"{_QUESTIONS}:what_can", "List the permissions of a principal."),
    "lint": Member("doorkeeper.cli.acls.lint:lint", "Find redundant ACLs and likely mistakes."),
    "assert": Member(
        "doorkeeper.cli.acls.assertions:assert_", "Check rules about what ACLs may allow."
    ),
    "export": Member(f"{_EXPORT}:export", "Write ACLs as YAML, JSON, CSV or a kafka-acls.sh list."),
    "import": Member(f"{_SETS}:import_acls", "Add the ACLs of a file."),
    "render": Member(f"{_EXPORT}:render", "Expand roles and write plain ACLs."),
    "diff": Member(f"{_SETS}:diff", "Compare two sets of ACLs."),
    "plan": Member(f"{_SETS}:plan", "Show the changes from the current to the desired ACLs."),
    "undo": Member("doorkeeper.cli.acls.undo:undo", "Undo changes of ACLs by revision."),
    "apply": Member(f"{_SETS}:apply", "Apply the desired ACLs."),
}


@click.group(
    name="acls",
    cls=LazyGroup,
    members=_MEMBERS,
    epilog=f"""{ADDRESSES}
\b
Exit statuses: 0 done; 1 failed, with the reason on stderr; 2 wrong usage;
130 ended by Ctrl-C. plan, diff, explain, lint and assert have further ones.

\b
Examples:
  doorkeeper acls list kafka://localhost:9092
  doorkeeper acls add --bootstrap-server localhost:9092 --allow-principal User:alice \\
                      --operation Read --topic orders
  doorkeeper acls explain acls.yaml --principal User:alice --operation Read --topic orders
  doorkeeper acls plan acls.yaml kafka://localhost:9092
""",
)
def command() -> None:
    """Manage ACLs, and explain the decisions that follow from them.

    add, remove and list take the options of kafka-acls.sh. explain, who-can, what-can, lint and
    assert answer questions. export, import, render, diff, plan and apply work on whole sets of
    ACLs. ADDRESS is a live cluster (Kafka or Doorkeeper) or a store; commands that only read also
    take a file. To change a store, stop its server first.

    After a lock-out, stop the server and change the ACLs in its store. The
    configured authorizer is then started without listeners, and the author of the changes is
    Server:doorkeeper.
    """


_STATUSES = """
\b
Exit statuses: 0 done; 1 failed, or options that exclude each other, with the reason on stderr;
2 wrong usage; 130 ended by Ctrl-C.
"""


_ADDING = "adding ACLs requires Alter on the cluster, which includes Describe"
_REMOVING = "removing ACLs requires Alter on the cluster, which includes Describe"
_LISTING = "listing ACLs requires Describe on the cluster"


@command.command(
    cls=KafkaCommand,
    epilog=f"""
A store that does not exist yet is created.
{ADDRESSES}{_STATUSES}
\b
Examples:
  doorkeeper acls add kafka://localhost:9092 --command-config admin.properties \\
                      --allow-principal User:alice --operation Read --topic orders
  doorkeeper acls add --bootstrap-server localhost:9092 --consumer --topic orders --group billing \\
                      --allow-principal User:alice
  doorkeeper acls add config:server.properties --cluster --operation All \\
                      --allow-principal User:admin
""",
)
@resource_options("literal", "prefixed")
@entry_options()
@no_principal_option
@no_force_option
@accept_option("networks", "lock-out")
@json_output(Added)
@location_options(is_kafkas=True)
def add(accepted: frozenset[Rule], output: str, **options: Any) -> None:
    """Add ACLs at ADDRESS; existing ones are kept."""
    location, by_resource = _take_request(options, additions, changes=True)

    # The tool compares with the present ACLs too, to print those that exist already.
    async def add_missing() -> None:
        async with location.repository().change(create=True) as session:
            listing = await session.listing()
            # Those that some brokers list, and others do not, may be there or not.
            existing = frozenset(listing.bindings).difference(listing.doubtful)
            added = dict.fromkeys(binding for some in by_resource.values() for binding in some)
            plan = Plan(tuple(binding for binding in added if binding not in existing), (), 0, 0)
            present = frozenset(listing.bindings).difference(plan.added)
            rules = await _permitted(session, present, plan, accepted)
            sent, without = plan, present
            if location.address.is_live:
                # Another broker, or this one a moment later, may not have what is listed: a DENY
                # that is not sent would not be in force. What exists is created again at no cost.
                sent, without = Plan(tuple(added), (), 0, 0), present.difference(added)
                rules = replace(rules, accepted=frozenset(OVERRIDES))
            for misleading in misleading_in(plan.added):
                say(f"note: {printable(misleading.reason)}; {printable(misleading.advice)}")
            if output != "json":
                _show_additions(by_resource, existing)
            await _apply(sent, session, without, rules, location, _ADDING)
            if output == "json":
                record: Added = {
                    "added": list(records(plan.added)),
                    "existing": list(records(binding for binding in added if binding in existing)),
                }
                show_json(record)

    _run(add_missing(), location, _ADDING)


def _show_additions(
    by_resource: Mapping[ResourcePattern, Sequence[AclBinding]], existing: frozenset[AclBinding]
) -> None:
    for resource, bindings in by_resource.items():
        for binding in bindings:
            if binding in existing:
                click.echo(f"Acl {binding_text(binding)} already exists.")
        missing = [binding for binding in bindings if binding not in existing]
        if missing:
            entries = entries_text(binding.entry for binding in missing)
            click.echo(f"Adding ACLs for resource `{resource_text(resource)}`: \n {entries}\n")


@command.command(
    cls=KafkaCommand,
    epilog=f"""
Without principals, all ACLs of the resources are removed.
{ADDRESSES}{_STATUSES}
\b
Examples:
  doorkeeper acls remove --bootstrap-server localhost:9092 --topic orders --force \\
                         --allow-principal User:alice --operation Read
  doorkeeper acls remove config:server.properties --topic orders \\
                         --deny-principal User:admin --operation All
""",
)
@resource_options(*PATTERN_TYPES)
@entry_options()
@no_principal_option
@named_option("--force", is_flag=True)
@accept_option("networks", "lock-out", "open")
@json_output(Removed)
@location_options(is_kafkas=True)
def remove(accepted: frozenset[Rule], output: str, **options: Any) -> None:
    """Remove ACLs at ADDRESS; asks for confirmation for each resource."""
    location, by_resource = _take_request(options, removals, changes=True)
    require_no_question(output, asks=not options["force"], option="--force")
    # All questions come before the first connection: a user who thinks about an answer keeps
    # neither a store nor a session open.
    confirmed = {
        resource: entries
        for resource, entries in by_resource.items()
        if options["force"] or _ask_to_remove(resource, entries)
    }
    filters = [
        filter
        for resource, entries in confirmed.items()
        for filter in filters_of(resource, entries)
    ]
    if not filters:
        fail_without_yes()

    async def remove_matching() -> None:
        async with location.repository().change() as session:
            bindings, _ = await session.listing()
            present = frozenset(known_bindings(bindings))
            chosen = matching(bindings, filters)
            removed = tuple(binding for binding in chosen if binding in present)
            if len(removed) != len(chosen):
                say(unknown_note(len(chosen) - len(removed)))
            # A broker that lags does not list all ACLs: those that the command line names one by
            # one are deleted, and judged, as if it did.
            unlisted = named_bindings(confirmed) - present if location.address.is_live else set()
            plan = Plan((), tuple(sorted((*removed, *unlisted))), 0, 0)
            before = present.union(unlisted)
            rules = await _permitted(session, before, plan, accepted)
            await _apply(plan, session, before, rules, location, _REMOVING)
            deleted = [binding for binding in plan.removed if binding in session.deleted]
            if lagging := unlisted.intersection(deleted):
                say(f"note: ACLs that were deleted, but not listed: {len(lagging)}")
            for note in removal_notes(confirmed, present.union(lagging), deleted):
                say(note)
            if output == "json":
                record: Removed = {"removed": list(records(deleted))}
                show_json(record)

    _run(remove_matching(), location, _REMOVING)


async def _permitted(
    session: ClusterSession,
    present: frozenset[AclBinding],
    plan: Plan,
    accepted: frozenset[Rule],
) -> Rules:
    """Return the rules of a change that they permit; what they refuse ends the process."""
    cluster = await session.live_cluster(present, plan) if plan else LiveCluster()
    # Without limits: the command line has named what goes.
    verdict = judge(Acceptance(accepted, any_number=True), cluster, present, plan)
    verdict.require()
    return verdict.rules


async def _apply(
    plan: Plan,
    session: ClusterSession,
    present: frozenset[AclBinding],
    rules: Rules,
    location: Location,
    needs: str,
) -> None:
    """Apply a plan; the errors of the cluster end the process."""
    outcome = await apply(plan, session, present, rules)
    errors = [failure.error for failure in outcome.failed]
    if not errors:
        return
    if location.address.is_live:
        # As in the tool, which stops at the first exception.
        first = f"{FAILED}{java_text(errors[0].code, errors[0])}"
        faults = [MISSING_AUTHORIZER] if any(map(is_disabled, errors)) else []
        fail([first, *_permission_lines(errors[0].code, needs), *faults])
    fail(dict.fromkeys(f"{error.code.name}: {error}" for error in errors))


def _ask_to_remove(resource: ResourcePatternFilter, entries: Sequence[AccessControlEntry]) -> bool:
    shown = resource_text(resource)
    if entries:
        click.echo(
            f"Are you sure you want to remove ACLs: \n {entries_text(entries)}\n from resource"
            f" filter `{shown}`? (y/n)"
        )
    else:
        click.echo(f"Are you sure you want to delete all ACLs for resource filter `{shown}`? (y/n)")
    # Not Click's prompt: the tool reads a line of any kind, and only "y" is a yes.
    answer: str = sys.stdin.readline()
    return answer.strip().lower() == "y"


@command.command(
    name="list",
    cls=KafkaCommand,
    epilog=f"""
The JSON output is a file of ACLs that other commands accept as ADDRESS. It also has the address
and, for a store, the revision.
{ADDRESSES}{_STATUSES}
\b
Examples:
  doorkeeper acls list kafka://localhost:9092
  doorkeeper acls list --bootstrap-controller localhost:9093 --principal User:alice --output table
  doorkeeper acls list config:server.properties --topic orders --resource-pattern-type match
""",
)
@resource_options(*PATTERN_TYPES)
@entry_options(hidden=True)
@principal_option
@no_force_option
@named_option("--output", type=click.Choice(OUTPUTS), default=OUTPUTS[0], show_default=True)
@has_json(AclSet)
@at_option
@location_options(is_kafkas=True)
def list_acls(output: str, **options: Any) -> None:
    """Print all ACLs at ADDRESS, or those of some resources or principals."""
    location, (filters, principals) = _take_request(options, listing)

    async def find() -> AclContents:
        with reading_progress(location):
            return await location.repository().find(filters)

    contents = _run(find(), location, _LISTING)
    report_doubt(contents.doubtful)
    bindings, revision = contents.bindings, contents.revision
    # The tool prints a block for each principal, also for one without ACLs.
    if output == "text":
        _print_as_kafka(bindings, principals)
        return
    if principals:
        bindings = [binding for binding in bindings if binding.entry.principal in principals]
    if output == "json":
        origin = {"place": location.canonical(), "revision": revision}
        click.echo(write_json(bindings, origin).rstrip())
        return
    click.echo("\n".join(table(bindings)))
    if revision is not None:
        # On stderr: each line of the table is an ACL.
        say(f"revision {revision} of {location.address}")


def _print_as_kafka(bindings: Sequence[AclBinding], principals: Sequence[str]) -> None:
    lines: list[str] = []
    if not principals:
        lines += kafka_listing(bindings)
    for name in principals:
        lines.append(f"ACLs for principal `{name}`")
        lines += kafka_listing([binding for binding in bindings if binding.entry.principal == name])
    if lines:
        click.echo("\n".join(lines))


def _take_request(
    options: dict[str, Any],
    request_of: Callable[[dict[str, Any]], Request],
    *,
    changes: bool = False,
) -> tuple[Location, Request]:
    """Return the location and the request that options name; an error ends the process."""
    context = click.get_current_context()
    assert context.info_name is not None
    try:
        # The tool's own checks come first: after an option without its value, the next word is
        # an ADDRESS here, and the tool reports the option.
        _check_servers(options)
        check(context.info_name, options)
        request = request_of(options)
    except ValueError as error:
        fail([error])
    location = take_location(options)
    if context.args:
        # The tool ignores them; they are more likely a missing hyphen.
        raise click.UsageError(f"unexpected arguments: {' '.join(context.args)}")
    if changes:
        refuse_file(location.address)
    return location, request


def _check_servers(options: dict[str, Any]) -> None:
    """Refuse two servers with the tool's text.

    Raises:
        ValueError: with such a text.
    """
    server, controller = options["bootstrap_server"], options["bootstrap_controller"]
    if server is not None and controller is not None:
        raise ValueError(
            "Only one of --bootstrap-server or --bootstrap-controller must be specified"
        )


def _run(work: Coroutine[Any, Any, Result], location: Location, needs: str) -> Result:
    """Return the result of work; an error ends the process with the tool's text."""
    try:
        return asyncio.run(work)
    except RepositoryError as error:
        cause = error.__cause__
        # Errors of a configuration file have no Java exception: they are printed as they are.
        if not location.address.is_live or cause is None or hasattr(cause, "problems"):
            fail(error.problems)
        code, text = getattr(cause, "code", None), getattr(cause, "message", None)
        shown = cause if code is None else java_text(code, text)
        # The tool's text names an API, ours what to do.
        ours = [str(cause)] if isinstance(cause, NotServed) else []
        fail([f"{FAILED}{shown}", *ours, *_permission_lines(code, needs)])


def _permission_lines(code: object, needs: str) -> list[str]:
    # The tool says only that something was refused. add lists before it changes, so that the
    # refused request may need less than the whole command does.
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return [f"{needs}; your principal does not have it"] if code == refused else []
