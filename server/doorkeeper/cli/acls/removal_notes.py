"""What a removal did not remove, though it looks so: the tool's defaults are ALL and LITERAL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.filters import pattern_matches
from doorkeeper.acls.model import PatternType
from doorkeeper.cli.terminal import counted, printable

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
        resource_text = f"{kind.name} {printable(name)}"
        if not any(pattern_matches(resource, binding.pattern) for binding in removed):
            yield from _nothing_removed(resource, entries, of_name, resource_text)
        others = [
            binding
            for binding in of_name
            if pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
            and binding.pattern.pattern_type is not pattern_type
        ]
        if others:
            other = others[0].pattern.pattern_type.name
            yield (
                f"{counted(len(others), f'{other} ACL')} on {resource_text} not selected; to select"
                f" them, add --resource-pattern-type {other.lower()}"
            )


def _nothing_removed(
    resource: ResourcePatternFilter,
    entries: Sequence[AccessControlEntry],
    of_name: Sequence[AclBinding],
    resource_text: str,
) -> Iterator[str]:
    left = [binding for binding in of_name if pattern_matches(resource, binding.pattern)]
    if not left:
        yield f"0 removed: no {resource.pattern_type.name} ACL is on {resource_text}"
    for principal in dict.fromkeys(entry.principal for entry in entries) if left else ():
        others = [binding.entry for binding in left if binding.entry.principal == principal]
        shown_principal = printable(principal)
        if not others:
            yield f"0 removed: no ACL on {resource_text} is for {shown_principal}"
            continue
        shown = [f"{entry.permission_type.name} {entry.operation.name}" for entry in sorted(others)]
        more = f" and {len(shown) - _SHOWN_MAX} more" if len(shown) > _SHOWN_MAX else ""
        yield (
            f"0 removed: {shown_principal} has {counted(len(others), 'other ACL')} on"
            f" {resource_text}: {', '.join(shown[:_SHOWN_MAX])}{more}; select them with"
            " --operation, --deny-principal or --allow-host"
        )
