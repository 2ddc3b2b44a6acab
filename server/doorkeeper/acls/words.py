"""Resources, names and regions of decisions in words, for people.

Names are in them as they are: whoever prints a text escapes its control characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.acls.model import WILDCARD, PatternType, ResourceType

if TYPE_CHECKING:
    from doorkeeper.acls.effective_changes import EffectiveChange
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.regions import Extent

_NOUNS: Final = {
    ResourceType.TOPIC: "topic",
    ResourceType.GROUP: "group",
    ResourceType.TRANSACTIONAL_ID: "transactional id",
    ResourceType.DELEGATION_TOKEN: "delegation token",
    ResourceType.USER: "user",
}

_OTHERS_MAX: Final = 10
"""The number of exceptions in a text."""


def noun(resource_type: ResourceType) -> str:
    return _NOUNS[resource_type]


def resource_words(resource_type: ResourceType, name: str) -> str:
    """Return a resource in words: ``topic orders``."""
    if resource_type is ResourceType.CLUSTER:
        return "the cluster"
    return f"{_NOUNS[resource_type]} {name}"


def extent_words(resource_type: ResourceType, names: Extent) -> str:
    """Return names in words: ``topic names that begin with 'pii-'``."""
    if names.is_single or resource_type is ResourceType.CLUSTER:
        return resource_words(resource_type, names.text)
    if not names.text:
        return f"all {_NOUNS[resource_type]}s"
    return f"{_NOUNS[resource_type]} names that begin with {names.text!r}"


def names_words(binding: AclBinding) -> str:
    """Return the names that a binding's pattern covers, in words."""
    resource_type, name, pattern_type = binding.pattern
    if pattern_type is PatternType.PREFIXED:
        return f"every {_NOUNS.get(resource_type, 'name')} that begins with {name!r}"
    if name == WILDCARD:
        return f"every {_NOUNS.get(resource_type, 'name')}"
    return resource_words(resource_type, name)


def region_words(change: EffectiveChange) -> str:
    """Return a region in a line: principal, operations, names, and hosts where not all."""
    operations = ", ".join(operation.name for operation in change.operations)
    return f"{change.principal}  {operations}  {names_and_hosts_words(change)}"


def names_and_hosts_words(change: EffectiveChange) -> str:
    """Return the names of a region, and its hosts where not all."""
    where = ""
    if change.host != WILDCARD or change.other_hosts:
        where = f", from {'all hosts' if change.host == WILDCARD else change.host}"
        if change.other_hosts:
            where += f" except {', '.join(change.other_hosts)}"
    words, others = extent_words(change.resource_type, change.names), change.other_names
    if others:
        shown = [f"{name.text}{'' if name.is_single else '*'}" for name in others[:_OTHERS_MAX]]
        more = f" and {len(others) - _OTHERS_MAX} more" if len(others) > _OTHERS_MAX else ""
        words += f" except {', '.join(shown)}{more}"
    return f"{words}{where}"
