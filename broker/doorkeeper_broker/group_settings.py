"""The settings of groups: a group's own, or those of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.resources.settings.operations import STORED_TYPES

if TYPE_CHECKING:
    from doorkeeper.server.api.node import Node

_GROUP: Final = STORED_TYPES[ConfigResourceType.GROUP]


def group_text(node: Node, group_id: str, name: str, default: str) -> str:
    """Return a setting that only groups have, as ``share.auto.offset.reset``."""
    return node.state.resource_configs.of((_GROUP, group_id)).get(name, default)


def group_number(node: Node, group_id: str, name: str) -> int:
    """Return a setting, as ``consumer.session.timeout.ms``, else the server's ``group.`` key."""
    own = node.state.resource_configs.of((_GROUP, group_id)).get(name)
    return node.settings.number(f"group.{name}") if own is None else int(own)
