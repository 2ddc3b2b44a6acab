"""``doorkeeper acls add``, ``remove`` and ``list``, on the store of a stopped server.

They print what kafka-acls.sh prints.
"""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING

import click

from doorkeeper.acl.model import Principal
from doorkeeper.cli.acl_options import Chosen, chosen, entry_options, resource_options
from doorkeeper.cli.failures import fail
from doorkeeper.cli.lazy import LazyGroup, Member
from doorkeeper.cli.options import config_option, load_or_fail, override_option

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from pathlib import Path

    from doorkeeper.acl.model import (
        AccessControlEntry,
        AclBinding,
        ResourcePattern,
        ResourcePatternFilter,
    )
    from doorkeeper.app.offline import OfflineAcls
    from doorkeeper.errors import ApiError


_QUESTIONS = "doorkeeper.cli.acl_questions"
_MEMBERS = {
    "explain": Member(f"{_QUESTIONS}:explain", "Say whether one may do a thing, and why."),
    "who-can": Member(f"{_QUESTIONS}:who_can", "Say who may do a thing."),
    "what-can": Member(f"{_QUESTIONS}:what_can", "Say what one may do."),
    "lint": Member("doorkeeper.cli.acl_lint:lint", "Find ACLs that do nothing, or look wrong."),
}


@click.group(name="acls", cls=LazyGroup, members=_MEMBERS)
def command() -> None:
    """Manage ACLs, and ask why they decide so.

    add, remove and list work while the server is stopped: they are the way back for who locked
    everybody out. While it runs, kafka-acls.sh and every admin client do the same over the wire.
    The configured authorizer is started without listeners; the change log names Server:doorkeeper
    as the author. The others change nothing.
    """


_STATUSES = """
\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage.
"""


@command.command(
    epilog=f"""{_STATUSES}
\b
Example:
  doorkeeper acls add --config server.properties --cluster --operation All \\
                      --allow-principal User:admin
"""
)
@resource_options
@entry_options
@config_option
@override_option
@click.pass_context
def add(
    context: click.Context, /, file: Path | None, overrides: tuple[str, ...], **_options: object
) -> None:
    """Add ACLs; those that are there stay as they are.

    The server need not have started yet: its store is made.
    """
    try:
        wanted = chosen(context.params).bindings()
    except ValueError as error:
        fail([error])
    for resource, bindings in wanted.items():
        entries = "\n".join(f"\t{_entry(each.entry)}" for each in bindings)
        click.echo(f"Adding ACLs for resource `{_resource(resource)}`: \n {entries}\n")

    async def work(acls: OfflineAcls) -> None:
        results = await acls.add([each for bindings in wanted.values() for each in bindings])
        _fail_where([each.error for each in results])

    _run(file, overrides, work, make_store=True)


@command.command(
    epilog=f"""
Without principals all ACLs of the resources go.
{_STATUSES}
\b
Example:
  doorkeeper acls remove --config server.properties --topic orders \\
                         --deny-principal User:admin --operation All
"""
)
@resource_options
@entry_options
@click.option("--force", is_flag=True, help="Do not ask.")
@config_option
@override_option
@click.pass_context
def remove(
    context: click.Context,
    /,
    file: Path | None,
    overrides: tuple[str, ...],
    *,
    force: bool,
    **_options: object,
) -> None:
    """Remove ACLs, after a question."""
    try:
        selection = chosen(context.params)
        wanted = selection.removals()
    except ValueError as error:
        fail([error])
    going = [
        each
        for resource, filters in wanted.items()
        if force or _confirmed(resource, selection)
        for each in filters
    ]
    if not going:
        return

    async def work(acls: OfflineAcls) -> None:
        results = await acls.remove(going)
        bindings = [binding.error for each in results for binding in each.bindings]
        _fail_where([*(each.error for each in results), *bindings])

    _run(file, overrides, work)


def _confirmed(resource: ResourcePatternFilter, selection: Chosen) -> bool:
    shown = _resource(resource)
    if selection.entries:
        entries = "\n".join(f"\t{_entry(each)}" for each in selection.entries)
        click.echo(
            f"Are you sure you want to remove ACLs: \n {entries}\n from resource filter `{shown}`?"
            " (y/n)"
        )
    else:
        click.echo(f"Are you sure you want to delete all ACLs for resource filter `{shown}`? (y/n)")
    answer: str = sys.stdin.readline()
    return answer.strip().lower() == "y"


@command.command(
    name="list",
    epilog=f"""{_STATUSES}
\b
Examples:
  doorkeeper acls list --config server.properties
  doorkeeper acls list --config server.properties --topic orders --resource-pattern-type match
""",
)
@resource_options
@click.option("--principal", "principals", multiple=True, help="Only of this principal.")
@config_option
@override_option
@click.pass_context
def list_acls(
    context: click.Context,
    /,
    principals: tuple[str, ...],
    file: Path | None,
    overrides: tuple[str, ...],
    **_options: object,
) -> None:
    """Print ACLs: all of them, or those of some resources or principals."""
    try:
        filters = chosen(context.params).filters()
        names = [str(Principal.parse(each.strip())) for each in principals]
    except ValueError as error:
        fail([error])

    async def work(acls: OfflineAcls) -> None:
        found = acls.find(filters)
        if not names:
            _print(found)
        for name in names:
            click.echo(f"ACLs for principal `{name}`")
            _print([each for each in found if each.entry.principal == name])

    _run(file, overrides, work)


def _print(bindings: Sequence[AclBinding]) -> None:
    for resource, of_one in groupby(bindings, key=lambda each: each.pattern):
        entries = "\n".join(f"\t{_entry(each.entry)}" for each in of_one)
        click.echo(f"Current ACLs for resource `{_resource(resource)}`:\n{entries}\n")


def _run(
    file: Path | None,
    overrides: Sequence[str],
    work: Callable[[OfflineAcls], Awaitable[None]],
    *,
    make_store: bool = False,
) -> None:
    settings = load_or_fail(file, overrides).settings
    from doorkeeper.app.errors import StartError  # noqa: PLC0415  as the next, which is heavy
    from doorkeeper.app.offline import run_offline  # noqa: PLC0415
    from doorkeeper.errors import AuthorizerFault  # noqa: PLC0415

    try:
        run_offline(settings, work, make_store=make_store)
    except StartError as error:
        fail(error.problems)
    except AuthorizerFault as fault:
        fail([fault])


def _fail_where(errors: Iterable[ApiError | None]) -> None:
    texts = dict.fromkeys(f"{e.code.name}: {e}" for e in errors if e is not None)
    if texts:
        fail(texts)


def _resource(resource: ResourcePattern | ResourcePatternFilter) -> str:
    kind, name, how = resource
    return f"ResourcePattern(resourceType={kind.name}, name={name}, patternType={how.name})"


def _entry(entry: AccessControlEntry) -> str:
    principal, host, operation, permission = entry
    return (
        f"(principal={principal}, host={host}, operation={operation.name},"
        f" permissionType={permission.name})"
    )
