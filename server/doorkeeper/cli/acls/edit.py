"""``doorkeeper acls add``, ``remove`` and ``list``: kafka-acls.sh, without a JVM.

Over the wire, or on the store of a stopped server. They print what the tool prints; what goes wrong
is told on stderr, in a line.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from doorkeeper.acl.model import ResourcePatternFilter
from doorkeeper.cli.acls.options import (
    KafkaCommand,
    additions,
    check,
    entry_options,
    filters_of,
    force_option,
    listing,
    no_force_option,
    no_principal_option,
    principal_option,
    removals,
    resource_options,
)
from doorkeeper.cli.acls.printing import (
    OUTPUTS,
    as_json,
    binding_text,
    entries_text,
    listed,
    resource_text,
    table,
)
from doorkeeper.cli.acls.targets import run, target_of, target_options
from doorkeeper.cli.failures import fail
from doorkeeper.cli.lazy import LazyGroup, Member

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from doorkeeper.acl.model import AccessControlEntry, AclBinding
    from doorkeeper.cli.acls.targets import Acls, Target

    Meant = TypeVar("Meant")


_QUESTIONS = "doorkeeper.cli.acls.questions"
_SETS = "doorkeeper.cli.acls.sets"
_MEMBERS = {
    "explain": Member(f"{_QUESTIONS}:explain", "Say whether one may do a thing, and why."),
    "who-can": Member(f"{_QUESTIONS}:who_can", "Say who may do a thing."),
    "what-can": Member(f"{_QUESTIONS}:what_can", "Say what one may do."),
    "lint": Member("doorkeeper.cli.acls.lint:lint", "Find ACLs that do nothing, or look wrong."),
    "export": Member(f"{_SETS}:export", "Write all ACLs as text."),
    "import": Member(f"{_SETS}:import_acls", "Add ACLs from a file; none is removed."),
    "diff": Member(f"{_SETS}:diff", "Show how two sets of ACLs differ."),
    "plan": Member(f"{_SETS}:plan", "Show what must change to have other ACLs."),
    "apply": Member(f"{_SETS}:apply", "Change ACLs as planned."),
}


@click.group(
    name="acls",
    cls=LazyGroup,
    members=_MEMBERS,
    epilog="""
\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage;
130 ended by Ctrl-C. plan, diff and explain have others for their answers, and
so has lint.

\b
Examples:
  doorkeeper acls list --bootstrap-server localhost:9092
  doorkeeper acls add --bootstrap-server localhost:9092 --allow-principal User:alice \\
                      --operation Read --topic orders
  doorkeeper acls explain --principal User:alice --operation Read --topic orders
  doorkeeper acls plan acls.yaml kafka://localhost:9092
""",
)
def command() -> None:
    """Manage ACLs, and ask why they decide so.

    add, remove and list take the options of kafka-acls.sh, for servers that run, Kafka's too, or
    for a stopped one's store: that is the way back for who locked everybody out. There the
    configured authorizer is started without listeners, and the change log names Server:doorkeeper
    as the author.

    explain, who-can, what-can and lint answer questions and change nothing. export, import, diff,
    plan and apply are for whole sets of ACLs in files.
    """


_STATUSES = """
\b
Exit statuses: 0 done; 1 it cannot be done, or options do not go together, said on stderr;
2 wrong usage; 130 ended by Ctrl-C.
"""


@command.command(
    cls=KafkaCommand,
    epilog=f"""
The store of a stopped server is made where there is none yet.
{_STATUSES}
\b
Examples:
  doorkeeper acls add --bootstrap-server localhost:9092 --command-config admin.properties \\
                      --allow-principal User:alice --operation Read --topic orders
  doorkeeper acls add --bootstrap-server localhost:9092 --consumer --topic orders --group billing \\
                      --allow-principal User:alice
  doorkeeper acls add --config server.properties --cluster --operation All \\
                      --allow-principal User:admin
""",
)
@resource_options
@entry_options()
@no_principal_option
@no_force_option
@target_options
@click.pass_context
def add(context: click.Context, /, **options: Any) -> None:  # noqa: ANN401  those above
    """Add ACLs; those that are there stay as they are."""
    target, wanted = _meant(context, options, additions)

    async def work(acls: Acls) -> None:
        for resource, bindings in wanted.items():
            there = set(await acls.find(filters_of(ResourcePatternFilter(*resource), ())))
            for each in bindings:
                if each in there:
                    click.echo(f"Acl {binding_text(each)} already exists.")
            missing = [each for each in bindings if each not in there]
            if missing:
                entries = entries_text(each.entry for each in missing)
                shown = resource_text(resource)
                click.echo(f"Adding ACLs for resource `{shown}`: \n {entries}\n")
                await acls.add(missing)

    run(target, work, make_store=True)


@command.command(
    cls=KafkaCommand,
    epilog=f"""
Without principals all ACLs of the resources go.
{_STATUSES}
\b
Examples:
  doorkeeper acls remove --bootstrap-server localhost:9092 --topic orders --force \\
                         --allow-principal User:alice --operation Read
  doorkeeper acls remove --config server.properties --topic orders \\
                         --deny-principal User:admin --operation All
""",
)
@resource_options
@entry_options()
@no_principal_option
@force_option
@target_options
@click.pass_context
def remove(context: click.Context, /, **options: Any) -> None:  # noqa: ANN401  those above
    """Remove ACLs, after a question."""
    target, wanted = _meant(context, options, removals)
    going = [
        each
        for resource, entries in wanted.items()
        if options["force"] or _confirmed(resource, entries)
        for each in filters_of(resource, entries)
    ]
    if not going:
        return

    async def work(acls: Acls) -> None:
        await acls.remove(going)

    run(target, work)


def _confirmed(resource: ResourcePatternFilter, entries: Sequence[AccessControlEntry]) -> bool:
    shown = resource_text(resource)
    if entries:
        click.echo(
            f"Are you sure you want to remove ACLs: \n {entries_text(entries)}\n from resource"
            f" filter `{shown}`? (y/n)"
        )
    else:
        click.echo(f"Are you sure you want to delete all ACLs for resource filter `{shown}`? (y/n)")
    answer: str = sys.stdin.readline()
    return answer.strip().lower() == "y"


@command.command(
    name="list",
    cls=KafkaCommand,
    epilog=f"""
--output json is a set of ACLs that doorkeeper acls takes.
{_STATUSES}
\b
Examples:
  doorkeeper acls list --bootstrap-server localhost:9092
  doorkeeper acls list --bootstrap-controller localhost:9093 --principal User:alice --output table
  doorkeeper acls list --config server.properties --topic orders --resource-pattern-type match
""",
)
@resource_options
@entry_options(hidden=True)
@principal_option
@no_force_option
@click.option(
    "--output",
    type=click.Choice(OUTPUTS),
    default=OUTPUTS[0],
    show_default=True,
    help="The text of kafka-acls.sh, a table, or JSON.",
)
@target_options
@click.pass_context
def list_acls(context: click.Context, /, output: str, **options: Any) -> None:  # noqa: ANN401
    """Print ACLs: all of them, or those of some resources or principals."""
    target, wanted = _meant(context, options, listing)

    async def work(acls: Acls) -> None:
        found = await acls.find(wanted.filters)
        if output == "kafka":
            _print_as_kafka(found, wanted.principals)
            return
        if wanted.principals:
            found = [each for each in found if each.entry.principal in wanted.principals]
        click.echo(as_json(found) if output == "json" else "\n".join(table(found)))

    run(target, work)


def _print_as_kafka(found: Sequence[AclBinding], principals: Sequence[str]) -> None:
    lines: list[str] = []
    if not principals:
        lines += listed(found)
    for name in principals:
        lines.append(f"ACLs for principal `{name}`")
        lines += listed([each for each in found if each.entry.principal == name])
    if lines:
        click.echo("\n".join(lines))


def _meant(
    context: click.Context, options: dict[str, Any], meaning: Callable[[dict[str, Any]], Meant]
) -> tuple[Target, Meant]:
    """Return whose ACLs are meant, and which; what cannot be meant ends the process."""
    assert context.info_name is not None
    try:
        target = target_of(options)
        check(context.info_name, options)
        meant = meaning(options)
    except ValueError as error:
        fail([error])
    if context.args:
        # The tool takes no notice of them; more often than not they are a slip.
        raise click.UsageError(f"found more than options: {' '.join(context.args)}")
    return target, meant
