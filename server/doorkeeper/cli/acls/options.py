"""The options of kafka-acls.sh, and the ACLs and filters that they name.

A refusal is a ``ValueError`` with the tool's own text. Each command takes the options of all three,
as the tool does: those that it cannot use are hidden, and refused with the tool's text.

Source: ``AclCommand`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from doorkeeper.acls.formats.commands import kafkas_word
from doorkeeper.acls.model import (
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
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper.acls.validation import unencodable
from doorkeeper.cli.completion import one_of
from doorkeeper.cli.options import RESOURCES, options_of_resources, utf8
from doorkeeper.cli.terminal import fail
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.options import PATTERN_TYPES, named_option, with_options
from doorkeeper.client.bindings import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    Entries = Sequence[AccessControlEntry]

FAILED: Final = "Error while executing ACL command: "
"""The beginning of the tool's errors; the name of a Java exception mostly follows."""

_NO_RESOURCE = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or"
    " --delegation-token <Delegation Token ID>"
)
_NO_PRINCIPAL = (
    "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
)
_PATTERNS = {member.name: member for member in PatternType if member is not PatternType.UNKNOWN}
_CLUSTER = ResourcePatternFilter(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
_OPERATIONS = {member.name.replace("_", "").lower(): member for member in AclOperation}
_OPERATIONS_OF_ACLS = tuple(member for member in AclOperation if member > AclOperation.ANY)


_WORDS = {
    "producer": {AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE},
    "consumer": {AclOperation.READ, AclOperation.DESCRIBE},
}
_TRANSACTIONAL = {AclOperation.WRITE, AclOperation.DESCRIBE}


class KafkaCommand(Command):
    """A command that refuses unknown options, and options without a value, as the tool does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line."""
        # The tool reports wrong options before superfluous words, so both are collected first.
        ctx.allow_extra_args = True
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            # With status 1: scripts for the tool do not expect Click's status 2.
            fail([f"{error.option_name.lstrip('-')} is not a recognized option"])
        except click.BadOptionUsage as error:
            if "requires an argument" not in error.message:
                raise
            fail([f"Option {error.option_name.lstrip('-')} requires an argument"])


def _several(name: str, *, hidden: bool = False) -> Callable[[Any], Any]:
    return named_option(name, multiple=True, type=utf8, hidden=hidden)


def resource_options(
    *patterns: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of resources, with these types of patterns."""
    pattern = named_option(
        "--resource-pattern-type",
        choices={word: PATTERN_TYPES[word] for word in patterns},
        default="literal",
        shell_complete=one_of(patterns),
        show_default=True,
    )
    return with_options(*options_of_resources(multiple=True), pattern)


def entry_options(*, hidden: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of principals, hosts and operations."""
    return with_options(
        _several("--allow-principal", hidden=hidden),
        _several("--deny-principal", hidden=hidden),
        _several("--allow-host", hidden=hidden),
        _several("--deny-host", hidden=hidden),
        named_option(
            "--operation",
            multiple=True,
            type=utf8,
            hidden=hidden,
            shell_complete=one_of(map(kafkas_word, _OPERATIONS_OF_ACLS)),
            default_text="All",
        ),
        named_option("--producer", is_flag=True, hidden=hidden),
        named_option("--consumer", is_flag=True, hidden=hidden),
        named_option("--idempotent", is_flag=True, hidden=hidden),
    )


principal_option = _several("--principal")
# The tool takes these options with every action, and refuses --principal with its own text.
no_principal_option = _several("--principal", hidden=True)
no_force_option = named_option("--force", is_flag=True, hidden=True)


def check(action: str, options: Mapping[str, Any]) -> None:
    """Refuse the first combination of options that the tool refuses, in its order.

    Raises:
        ValueError: with the tool's text.

    Source: ``AclCommandOptions.checkArgs``.
    """
    hosts = ("deny-principal", "deny-host")
    exclusive = {
        "list": ("producer", "consumer", "allow-host", "allow-principal", "deny-host", hosts[0]),
        "producer": ("operation", *hosts),
        "consumer": ("operation", *hosts),
    }
    named_options = {action, *(name.replace("_", "-") for name, value in options.items() if value)}
    for one, others in exclusive.items():
        for other in others:
            if one in named_options and other in named_options:
                raise ValueError(f'Option "[{one}]" can\'t be used with option "[{other}]"')
    if action != "list" and "principal" in named_options:
        raise ValueError("The --principal option is only available if --list is set")
    if "producer" in named_options and "topic" not in named_options:
        raise ValueError("With --producer you must specify a --topic")
    if "idempotent" in named_options and "producer" not in named_options:
        raise ValueError("The --idempotent option is only available if --producer is set")
    if "consumer" in named_options and (
        not {"topic", "group"} <= named_options
        or ("producer" not in named_options and named_options & {"cluster", "transactional-id"})
    ):
        raise ValueError(
            "With --consumer you must specify a --topic and a --group and no --cluster or"
            " --transactional-id option should be specified."
        )


def additions(options: Mapping[str, Any]) -> dict[ResourcePattern, list[AclBinding]]:
    """Return the ACLs to add, by resource.

    Raises:
        ValueError: a resource or a principal is missing, a pattern is not of one kind, a principal
            has no colon, an operation does not belong to a resource, or a text is too long.
    """
    if (option := _pattern_type(options)) not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise ValueError(
            f"A '--resource-pattern-type' value of '{option.name}' is not valid when adding acls."
        )
    bindings_by_resource: dict[ResourcePattern, list[AclBinding]] = {}
    for (kind, name, pattern_type), entries in removals(options).items():
        if not entries:
            raise ValueError(_NO_PRINCIPAL)
        pattern = ResourcePattern(kind, name or "", pattern_type)
        bindings_by_resource[pattern] = [AclBinding(pattern, entry) for entry in entries]
    for binding in (binding for bindings in bindings_by_resource.values() for binding in bindings):
        if refusal := unencodable(binding):
            raise ValueError(f"{FAILED}{refusal}")
    return bindings_by_resource


def filters_of(
    pattern: ResourcePatternFilter, entries: Sequence[AccessControlEntry]
) -> list[AclBindingFilter]:
    """Return the filters for these entries of a resource; without entries, for all of them."""
    entry_filters = [AccessControlEntryFilter(*entry) for entry in entries] or [ANY_BINDING.entry]
    return [AclBindingFilter(pattern, entry) for entry in entry_filters]


def named_bindings(
    by_resource: Mapping[ResourcePatternFilter, Sequence[AccessControlEntry]],
) -> set[AclBinding]:
    """Return the ACLs that entries of resources name one by one: no part of them means several."""
    return {
        binding
        for (kind, name, pattern_type), entries in by_resource.items()
        for entry in entries
        if name is not None
        and refusal(binding := AclBinding(ResourcePattern(kind, name, pattern_type), entry)) is None
    }


def listing(options: Mapping[str, Any]) -> tuple[list[AclBindingFilter], list[str]]:
    """Return the filters of a list, and its principals, none for all.

    Without resources, there is one filter for everything.

    Raises:
        ValueError: a principal has no colon.
    """
    patterns = _patterns(options)
    filters = [AclBindingFilter(pattern, ANY_BINDING.entry) for pattern in patterns]
    return filters or [ANY_BINDING], _principals(options["principal"])


def removals(options: Mapping[str, Any]) -> dict[ResourcePatternFilter, list[AccessControlEntry]]:
    """Return the entries to remove by resource; no entries mean all of the resource.

    Raises:
        ValueError: as for additions; principals may be missing.
    """
    entries_by_pattern: dict[ResourcePatternFilter, dict[AccessControlEntry, None]] = {}

    def grant(patterns: Iterable[ResourcePatternFilter], entries: Entries) -> None:
        for pattern in patterns:
            entries_by_pattern.setdefault(pattern, {}).update(dict.fromkeys(entries))

    # --producer and --consumer stand for operations, which check has refused beside them.
    if not options["producer"] and not options["consumer"]:
        operations = dict.fromkeys(map(_operation, options["operation"] or ("All",)))
        entries = _entries(options, operations)
        grant(_some(options), entries)
    # Both may be given: a client that consumes and produces.
    for word, operations_ in _WORDS.items():
        if options[word]:
            patterns = _some(options)
            grant(_of(patterns, ResourceType.TOPIC), _entries(options, sorted(operations_)))
            if word == "consumer":
                reading = _entries(options, (AclOperation.READ,))
                grant(_of(patterns, ResourceType.GROUP), reading)
                continue
            writing = _entries(options, sorted(_TRANSACTIONAL))
            grant(_of(patterns, ResourceType.TRANSACTIONAL_ID), writing)
            if options["idempotent"]:
                grant((_CLUSTER,), _entries(options, (AclOperation.IDEMPOTENT_WRITE,)))
    for pattern, granted in entries_by_pattern.items():
        _check_operations(pattern, granted)
    return {pattern: list(granted) for pattern, granted in entries_by_pattern.items()}


def _of(
    patterns: Iterable[ResourcePatternFilter], resource_type: ResourceType
) -> list[ResourcePatternFilter]:
    return [pattern for pattern in patterns if pattern.resource_type is resource_type]


def _check_operations(
    pattern: ResourcePatternFilter, entries: Iterable[AccessControlEntry]
) -> None:
    resource_type = pattern.resource_type
    allowed = {*SUPPORTED_OPERATIONS[resource_type], AclOperation.ALL}
    if not allowed.issuperset(entry.operation for entry in entries):
        names = ", ".join(sorted(permission.name for permission in allowed))
        raise ValueError(f"ResourceType {resource_type.name} only supports operations [{names}]")


def _some(options: Mapping[str, Any]) -> list[ResourcePatternFilter]:
    patterns = _patterns(options)
    if not patterns:
        raise ValueError(_NO_RESOURCE)
    return patterns


def _patterns(options: Mapping[str, Any]) -> list[ResourcePatternFilter]:
    pattern_type = _pattern_type(options)
    patterns = []
    for option, resource_type in RESOURCES.items():
        for name in options[option]:
            # The tool strips blanks from all names except transactional ids.
            exact = name if resource_type is ResourceType.TRANSACTIONAL_ID else name.strip()
            patterns.append(ResourcePatternFilter(resource_type, exact, pattern_type))
    # As in the tool, which ignores --cluster with another pattern type.
    if pattern_type is PatternType.LITERAL and (options["cluster"] or options.get("idempotent")):
        patterns.append(_CLUSTER)
    return list(dict.fromkeys(patterns))


def _pattern_type(options: Mapping[str, Any]) -> PatternType:
    text = options["resource_pattern_type"]
    try:
        return _PATTERNS[text.upper()]
    except KeyError:
        raise ValueError(
            f"{FAILED}Cannot parse argument '{text}' of option resource-pattern-type"
        ) from None


def _entries(options: Mapping[str, Any], operations: Iterable[AclOperation]) -> Entries:
    entries = []
    for word, permission in (("allow", AclPermissionType.ALLOW), ("deny", AclPermissionType.DENY)):
        for principal in _principals(options[f"{word}_principal"]):
            for host in options[f"{word}_host"] or ("*",):
                for operation in operations:
                    if operation is AclOperation.ANY:
                        raise ValueError(f"{FAILED}operation must not be ANY")
                    entries.append(
                        AccessControlEntry(principal, host.strip(), operation, permission)
                    )
    return list(dict.fromkeys(entries))


def _principals(texts: Iterable[str]) -> list[str]:
    try:
        return list(dict.fromkeys(str(Principal.parse(text.strip())) for text in texts))
    except ValueError as error:
        raise ValueError(f"{FAILED}{error}") from None


def _operation(text: str) -> AclOperation:
    return _OPERATIONS.get(text.strip().replace("_", "").lower(), AclOperation.UNKNOWN)
