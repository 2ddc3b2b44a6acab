"""The options of questions about ACLs: the request, and the policy besides the ACLs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click
from msgspec import Struct

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.formats.commands import kafkas_word
from doorkeeper.acls.formats.names import FormatError, operation
from doorkeeper.acls.hosts import java_host
from doorkeeper.acls.model import ANY_HOST, CLUSTER_NAME, WILDCARD, AclOperation, ResourceType
from doorkeeper.acls.networks import IPV4_BITS, network_of
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper.acls.super_users import remark_on
from doorkeeper.cli.completion import one_of
from doorkeeper.cli.json_records.questions import Policy as PolicyRecord
from doorkeeper.cli.options import (
    RESOURCES,
    options_of_resources,
    principal,
    utf8,
)
from doorkeeper.cli.terminal import say
from doorkeeper.cli.vocabulary.options import named_option, with_options
from doorkeeper.server.authorizer.standard_keys import read_policy
from doorkeeper.server.config.keys import ALLOW_EVERYONE_IF_NO_ACL_FOUND, SUPER_USERS
from doorkeeper.server.resources.topics.names import reason_invalid
from doorkeeper.server.schema.features import LEVELS, NEWEST


def _operation(value: str) -> AclOperation:
    """Return the operation that a word of kafka-acls.sh names: ``Read``, ``describe_configs``."""
    try:
        does = operation(value)
    except FormatError as error:
        raise click.BadParameter(str(error)) from error
    if does is AclOperation.ALL:
        raise click.BadParameter(
            "found All; expected one operation, since a request has exactly one"
        )
    return does


def _host(value: str) -> str:
    """Return an address as Java writes it: Kafka compares hosts as texts."""
    if value == ANY_HOST:
        return ANY_HOST
    if "/" in value:
        network = network_of(value)
        if network is None or (network.bits, network.last) == (IPV4_BITS, 0):
            raise click.BadParameter(
                f"found {value!r}; allowed: an address, a network such as 10.0.0.0/8, or *"
            )
        return str(network)
    # "::1" is "0:0:0:0:0:0:0:1" in Java, and an ACL for the one does not match the other.
    address = java_host(value)
    if address is None:
        raise click.BadParameter(f"found {value!r}; allowed: an address, a network, or *")
    return address


resource_option = with_options(*options_of_resources(multiple=False))
"""Adds the options that name one resource; ``take_resource`` reads them."""

principal_option = named_option("--principal", type=principal, required=True)


operation_option = named_option(
    "--operation",
    type=_operation,
    shell_complete=one_of(
        kafkas_word(member) for member in AclOperation if member > AclOperation.ALL
    ),
)
host_option = named_option("--host", type=_host, default=ANY_HOST, show_default=True)
network_option = named_option("--host", type=_host, default_text="all hosts")


def resource_type_of(options: dict[str, Any]) -> ResourceType | None:
    """Return the type of the resource that options name; ``take_resource`` refuses several."""
    named = (kind for option, kind in RESOURCES.items() if options[option] is not None)
    return next(named, ResourceType.CLUSTER if options["cluster"] else None)


def check_name(resource_type: ResourceType, name: str, *, is_prefixed: bool) -> None:
    """Refuse a name, or the beginning of names, that no resource of a type can have.

    Groups and transactional ids are any text. A pattern that is typed as a name would have an
    answer about one topic, which does not exist.

    Raises:
        click.UsageError: no topic has such a name.

    Source: the broker's ``Topic.validate``.
    """
    if resource_type is not ResourceType.TOPIC:
        return
    # "." begins names, and is none.
    reason = reason_invalid(f"{name}x" if is_prefixed and name in (".", "..") else name)
    if reason is None:
        return
    beginning = name.removesuffix(WILDCARD)
    hint = ""
    if not is_prefixed and beginning and reason_invalid(f"{beginning}x") is None:
        hint = (
            f"; for all names that begin with {beginning}: --topic {beginning}"
            " --resource-pattern-type prefixed"
        )
    reason = reason.removeprefix("Topic name is invalid: ")
    raise click.UsageError(f"--topic: no topic can have this name: {reason}{hint}")


def take_resource(
    options: dict[str, Any], operation: AclOperation, *, is_prefixed: bool = False
) -> tuple[ResourceType, str]:
    """Return the type and name of the resource of options, and take them out of the dictionary.

    Raises:
        click.UsageError: there is not one, or no request has the operation on its type, or no
            topic has the name.
    """
    name_by_kind = {kind: options.pop(option) for option, kind in RESOURCES.items()}
    resources = [(kind, name) for kind, name in name_by_kind.items() if name is not None]
    if options.pop("cluster"):
        resources.append((ResourceType.CLUSTER, CLUSTER_NAME))
    # An empty variable in a script would otherwise ask about a resource that cannot exist.
    for option, kind in RESOURCES.items():
        if name_by_kind[kind] == "":
            raise click.UsageError(
                f"--{option.replace('_', '-')} is empty; expected: the name of a resource"
            )
    if len(resources) != 1:
        names = ", ".join(f"--{option.replace('_', '-')}" for option in RESOURCES)
        raise click.UsageError(f"expected one of {names}, --cluster; found {len(resources)}")
    [(resource_type, name)] = resources
    check_name(resource_type, name, is_prefixed=is_prefixed)
    supported = SUPPORTED_OPERATIONS[resource_type]
    # Every such answer would be "denied", and the reason would be missed.
    if operation not in supported:
        allowed = ", ".join(map(kafkas_word, supported))
        raise click.UsageError(
            f"--operation: found {kafkas_word(operation)}; allowed for"
            f" {resource_type.name}: {allowed}"
        )
    return resource_type, name


NOT_KNOWN: Final = "not known"
"""The source of super users that neither a store, a configuration nor an option gives."""

ASSUMED: Final = "assumed"
"""The source of Kafka's default, where the value is not known."""


class EffectivePolicy(Struct, frozen=True):
    """Super users and the default for resources without ACLs, with the source of each.

    Super users that are not known are none in ``policy``: decisions are those of all others.
    """

    policy: Policy
    super_users_from: str
    allow_everyone_from: str

    @property
    def super_users(self) -> list[str] | None:
        """Return the super users; None if they are not known."""
        if self.super_users_from == NOT_KNOWN:
            return None
        return sorted(self.policy.super_users)

    def lines(self) -> list[str]:
        """Return the settings as lines, by Kafka's names."""
        # As in the configuration: distinguished names have commas.
        if self.super_users is None:
            users = f"{NOT_KNOWN}; super users may do everything (give them with --super-user)"
        else:
            users = f"{';'.join(self.super_users) or 'none'} ({self.super_users_from})"
        everyone = str(self.policy.allow_everyone).lower()
        return [
            f"{SUPER_USERS}: {users}",
            f"{ALLOW_EVERYONE_IF_NO_ACL_FOUND}: {everyone} ({self.allow_everyone_from})",
        ]

    def record(self) -> PolicyRecord:
        return {
            "superUsers": self.super_users,
            "superUsersFrom": self.super_users_from,
            "allowEveryone": self.policy.allow_everyone,
            "allowEveryoneFrom": self.allow_everyone_from,
        }


release_option = named_option(
    "--kafka",
    "release",
    type=click.Choice(list(LEVELS)),
    default_text=f"that of the store or cluster; {NEWEST} for files",
)


policy_options = with_options(
    named_option(
        "--super-user",
        "super_users",
        type=utf8,
        multiple=True,
        default_text="from the store or --config, else unknown",
    ),
    named_option(
        "--allow-everyone/--no-allow-everyone",
        default=None,
        default_text="from the store or --config, else false",
    ),
)
"""The options of the policy; ``effective_policy`` takes their values."""


def effective_policy(
    configured: Policy | None,
    super_users: Sequence[str],
    *,
    allow_everyone: bool | None,
    source: str = "configured",
) -> EffectivePolicy:
    """Return the policy of a source, None if there is none, with options in its place.

    ``super_users`` of one empty text are none at all.

    Raises:
        click.UsageError: a super user has no colon.
    """
    policy = configured or Policy()
    users_from, everyone_from = (NOT_KNOWN, ASSUMED) if configured is None else (source, source)
    if super_users:
        several = next((user for user in super_users if ";" in user), None)
        if several is not None:
            raise click.UsageError(f"--super-user: found {several!r}; repeat the option for each")
        try:
            users = read_policy({SUPER_USERS.name: ";".join(super_users)}).super_users
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        for remark in filter(None, map(remark_on, sorted(users))):
            say(f"--super-user: {remark}")
        policy = Policy(super_users=users, allow_everyone=policy.allow_everyone)
        users_from = "--super-user"
    if allow_everyone is not None:
        policy = Policy(super_users=policy.super_users, allow_everyone=allow_everyone)
        everyone_from = "--allow-everyone" if allow_everyone else "--no-allow-everyone"
    return EffectivePolicy(policy, users_from, everyone_from)
