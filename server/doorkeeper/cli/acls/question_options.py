"""The options of questions about ACLs, and the types of their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from doorkeeper.acl.explaining import ANY_HOST
from doorkeeper.acl.formats.commands import kafkas_word
from doorkeeper.acl.formats.names import FormatError, operation
from doorkeeper.acl.hosts import java_host
from doorkeeper.acl.model import CLUSTER_NAME, AclOperation, Principal, ResourceType
from doorkeeper.acl.operations import SUPPORTED_OPERATIONS
from doorkeeper.cli.completing import one_of
from doorkeeper.cli.options import options_of_resources, utf8

if TYPE_CHECKING:
    from collections.abc import Callable

Command = TypeVar("Command", bound="Callable[..., Any] | click.Command")


def _operation(_context: click.Context, _parameter: click.Parameter, value: str) -> AclOperation:
    """Return an operation that kafka-acls.sh would take: ``Read``, ``describe_configs``."""
    try:
        found = operation(value)
    except FormatError as error:
        raise click.BadParameter(str(error)) from error
    if found is AclOperation.ALL:
        raise click.BadParameter("All is for ACLs; requests ask for one operation at a time")
    return found


def _principal(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    try:
        return str(Principal.parse(value))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _host(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    """Return an address as Java writes it, since Kafka compares texts."""
    if value == ANY_HOST:
        return ANY_HOST
    found = java_host(value)
    if found is None:
        raise click.BadParameter(f"found {value!r}; allowed: an address, or *")
    return found


class Resource(NamedTuple):
    """What a question is about."""

    resource_type: ResourceType
    name: str


_NAMED = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "delegation_token": ResourceType.DELEGATION_TOKEN,
    "user_principal": ResourceType.USER,
}


def resource_option(command: Command) -> Command:
    """Give a command the options that name one resource; ``resource_of`` takes their values."""
    for option in reversed(options_of_resources(_name)):
        command = option(command)
    return command


def _name(option: str, metavar: str, text: str) -> Callable[[Command], Command]:
    return click.option(option, metavar=metavar, type=utf8, help=f"{text}.")


principal_option = click.option(
    "--principal",
    callback=_principal,
    metavar="TYPE:NAME",
    type=utf8,
    required=True,
    help="Who asks.",
)
operation_option = click.option(
    "--operation",
    callback=_operation,
    shell_complete=one_of(kafkas_word(each) for each in AclOperation if each > AclOperation.ALL),
    metavar="OPERATION",
    required=True,
    help="What is asked for: Read, Write, ...",
)
host_option = click.option(
    "--host",
    callback=_host,
    metavar="ADDRESS",
    default=ANY_HOST,
    show_default=True,
    help="From where; * stands for an address that no ACL names.",
)


def resource_of(options: dict[str, Any], asked: AclOperation) -> Resource:
    """Return the resource that options name, and take them out of the dictionary.

    Raises:
        click.UsageError: there is not one, or nothing asks for the operation on it.

    """
    given = {kind: options.pop(option) for option, kind in _NAMED.items()}
    found = [Resource(kind, name) for kind, name in given.items() if name is not None]
    if options.pop("cluster"):
        found.append(Resource(ResourceType.CLUSTER, CLUSTER_NAME))
    for option, kind in _NAMED.items():
        if given[kind] == "":
            raise click.UsageError(f"--{option.replace('_', '-')} is empty: nothing has no name")
    if len(found) != 1:
        names = ", ".join(f"--{each.replace('_', '-')}" for each in _NAMED)
        raise click.UsageError(f"give one of {names}, --cluster; found {len(found)}")
    supported = SUPPORTED_OPERATIONS[found[0].resource_type]
    if asked not in supported:
        allowed = ", ".join(map(kafkas_word, supported))
        raise click.UsageError(
            f"nothing asks for {kafkas_word(asked)} on a {found[0].resource_type.name}; what is"
            f" asked for: {allowed}"
        )
    return found[0]
