"""The options of kafka-acls.sh, and the ACLs and filters that they come to.

A refusal is a ``ValueError`` with the tool's own text.

Source: ``AclCommand`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from doorkeeper.acl.model import (
    ANY_BINDING,
    CLUSTER_NAME,
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    Principal,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from doorkeeper.acl.operations import SUPPORTED_OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

_NO_RESOURCE = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or"
    " --delegation-token <Delegation Token ID>"
)
_NO_PRINCIPAL = (
    "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
)
_NAMED = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "delegation_token": ResourceType.DELEGATION_TOKEN,
    "user_principal": ResourceType.USER,
}
_PATTERNS = ("any", "match", "literal", "prefixed")
_OPERATIONS = {each.name.replace("_", "").lower(): each for each in AclOperation}


def _several(name: str, metavar: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, metavar=metavar, multiple=True, help=f"{text}; may be repeated.")


def resource_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name resources."""
    pattern = click.option(
        "--resource-pattern-type",
        type=click.Choice(_PATTERNS, case_sensitive=False),
        default="literal",
        show_default=True,
        help="How names are meant; add takes literal and prefixed.",
    )
    for option in reversed(
        (
            _several("--topic", "NAME", "A topic"),
            _several("--group", "NAME", "A group"),
            click.option("--cluster", is_flag=True, help="The cluster."),
            _several("--transactional-id", "ID", "A transactional id"),
            _several("--delegation-token", "ID", "A delegation token"),
            _several("--user-principal", "USER", "A user whose tokens it is about"),
            pattern,
        )
    ):
        command = option(command)
    return command


def entry_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say who may do what."""
    for option in reversed(
        (
            _several("--allow-principal", "TYPE:NAME", "Who may"),
            _several("--deny-principal", "TYPE:NAME", "Who may not"),
            _several("--allow-host", "ADDRESS", "From where they may; from everywhere by default"),
            _several("--deny-host", "ADDRESS", "From where they may not; likewise"),
            _several("--operation", "OPERATION", "What: Read, Write, ...; All by default"),
        )
    ):
        command = option(command)
    return command


class Chosen(NamedTuple):
    """What was given on the command line: patterns, and entries of which there may be none."""

    pattern_type: PatternType
    patterns: tuple[ResourcePatternFilter, ...]
    entries: tuple[AccessControlEntry, ...] = ()

    def bindings(self) -> dict[ResourcePattern, list[AclBinding]]:
        """Return the ACLs to add, by resource.

        Raises:
            ValueError: a resource or a principal is missing, or a pattern is not of one kind.

        """
        if self.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
            raise ValueError(
                f"A '--resource-pattern-type' value of '{self.pattern_type.name}' is not valid when"
                " adding acls."
            )
        if not self.patterns:
            raise ValueError(_NO_RESOURCE)
        if not self.entries:
            raise ValueError(_NO_PRINCIPAL)
        made = (ResourcePattern(kind, name or "", how) for kind, name, how in self.patterns)
        return {each: [AclBinding(each, entry) for entry in self.entries] for each in made}

    def filters(self) -> list[AclBindingFilter]:
        """Return the filters of what to list: everything where nothing is named."""
        if not self.patterns:
            return [ANY_BINDING]
        return [AclBindingFilter(each, ANY_BINDING.entry) for each in self.patterns]

    def removals(self) -> dict[ResourcePatternFilter, list[AclBindingFilter]]:
        """Return the filters of what to remove, by resource.

        Raises:
            ValueError: a resource is missing.

        """
        if not self.patterns:
            raise ValueError(_NO_RESOURCE)
        entries = [AccessControlEntryFilter(*each) for each in self.entries]
        return {
            each: [AclBindingFilter(each, entry) for entry in entries or [ANY_BINDING.entry]]
            for each in self.patterns
        }


def chosen(options: Mapping[str, Any]) -> Chosen:
    """Return what options mean.

    Raises:
        ValueError: a principal has no colon, or an operation does not belong to a resource.

    """
    patterns = tuple(dict.fromkeys(_patterns(options)))
    entries = tuple(dict.fromkeys(_entries(options))) if "operation" in options else ()
    operations = {entry.operation for entry in entries}
    for resource_type, _, _ in patterns:
        allowed = {*SUPPORTED_OPERATIONS[resource_type], AclOperation.ALL}
        if not operations <= allowed:
            names = ", ".join(sorted(each.name for each in allowed))
            raise ValueError(
                f"ResourceType {resource_type.name} only supports operations [{names}]"
            )
    return Chosen(_pattern_type(options), patterns, entries)


def _patterns(options: Mapping[str, Any]) -> Iterable[ResourcePatternFilter]:
    how = _pattern_type(options)
    for option, resource_type in _NAMED.items():
        for name in options[option]:
            yield ResourcePatternFilter(resource_type, name.strip(), how)
    if options["cluster"]:
        # There is one, whatever is said of names.
        yield ResourcePatternFilter(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)


def _pattern_type(options: Mapping[str, Any]) -> PatternType:
    return PatternType[options["resource_pattern_type"].upper()]


def _entries(options: Mapping[str, Any]) -> Iterable[AccessControlEntry]:
    operations = [_operation(each) for each in options["operation"] or ("All",)]
    for word, permission in (("allow", AclPermissionType.ALLOW), ("deny", AclPermissionType.DENY)):
        principals = [str(Principal.parse(each.strip())) for each in options[f"{word}_principal"]]
        for principal in principals:
            for host in options[f"{word}_host"] or ("*",):
                for operation in operations:
                    yield AccessControlEntry(principal, host.strip(), operation, permission)


def _operation(text: str) -> AclOperation:
    return _OPERATIONS.get(text.strip().replace("_", "").lower(), AclOperation.UNKNOWN)
