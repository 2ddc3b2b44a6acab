"""What a removal did not remove, though it looks so: the tool's defaults are ALL and LITERAL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.filters import pattern_matches
from doorkeeper.acls.model import PatternType
from doorkeeper.cli.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from doorkeeper.acls.model import AccessControlEntry, AclBinding, ResourcePatternFilter

_SHOWN_MAX = 5


def removal_notes(
    by_resource: Mapping[ResourcePatternFilter, Sequence[AccessControlEntry]],
    present: Collection[AclBinding],
    removed: Collection[AclBinding],
) -> Iterator[str]:
    """Yield a sentence for each filter that removed nothing, and for ACLs of the same name."""
    for resource, entries in by_resource.items():
        kind, name, pattern_type = resource
        if name is None:
            continue
        of_name = [
            binding
            for binding in present
            if (binding.pattern.resource_type, binding.pattern.name) == (kind, name)
        ]
        what = f"{kind.name} {printable(name)}"
        if not any(pattern_matches(resource, binding.pattern) for binding in removed):
            yield from _nothing_removed(resource, entries, of_name, what)
        others = [
            binding
            for binding in of_name
            if pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
            and binding.pattern.pattern_type is not pattern_type
        ]
        if others:
            other = others[0].pattern.pattern_type.name
            yield (
                f"{_counted(len(others), f'{other} ACL')} on {what} not selected; to select them,"
                f" add --resource-pattern-type {other.lower()}"
            )


def _nothing_removed(
    resource: ResourcePatternFilter,
    entries: Sequence[AccessControlEntry],
    of_name: Sequence[AclBinding],
    what: str,
) -> Iterator[str]:
    left = [binding for binding in of_name if pattern_matches(resource, binding.pattern)]
    if not left:
        yield f"0 removed: no {resource.pattern_type.name} ACL is on {what}"
    for principal in dict.fromkeys(entry.principal for entry in entries) if left else ():
        others = [binding.entry for binding in left if binding.entry.principal == principal]
        who = printable(principal)
        if not others:
            yield f"0 removed: no ACL on {what} is for {who}"
            continue
        shown = [f"{entry.permission_type.name} {entry.operation.name}" for entry in sorted(others)]
        more = f" and {len(shown) - _SHOWN_MAX} more" if len(shown) > _SHOWN_MAX else ""
        yield (
            f"0 removed: {who} has {_counted(len(others), 'other ACL')} on {what}:"
            f" {', '.join(shown[:_SHOWN_MAX])}{more}; select them with --operation,"
            " --deny-principal or --allow-host"
        )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
