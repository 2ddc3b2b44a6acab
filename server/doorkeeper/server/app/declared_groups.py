"""The file of declared groups: ``doorkeeper.groups.file``; see ``docs/how-to/groups.md``."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from doorkeeper.server.config.document import read
from doorkeeper.server.resources.cluster import Group, GroupMember
from doorkeeper.server.resources.consumer_protocol import (
    assignment_bytes,
    subscription_bytes,
)
from doorkeeper.server.resources.topics.names import reason_invalid

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from doorkeeper.server.config.document import YamlValue

# The states of each type of group, in Kafka's spelling.
STATES: Mapping[str, tuple[str, ...]] = {
    "classic": ("Stable", "Empty", "Dead", "PreparingRebalance", "CompletingRebalance"),
    "consumer": ("Stable", "Empty", "Dead", "Assigning", "Reconciling"),
}

WITHOUT_MEMBERS = ("Empty", "Dead")

_KEYS = ("id", "state", "type", "protocol_type", "protocol", "members")
_MEMBER_KEYS = (
    "member_id",
    "client_id",
    "host",
    "instance_id",
    "subscription",
    "assignment",
)
_PARTITION_MAX = 2**31 - 1


def load(path: Path) -> dict[str, Group]:
    """Return the groups of a file by id.

    Raises:
        FaultyDocument: with all faults of the file.
    """
    document, faults = read(path)
    fields = {} if document.is_null() else document.fields(("groups",))
    groups = _groups(fields["groups"]) if "groups" in fields else {}
    faults.raise_any()
    return groups


def _groups(value: YamlValue) -> dict[str, Group]:
    """Return the groups of a list; those with faults may be incomplete."""
    groups: dict[str, Group] = {}
    for item in value.items():
        fields = item.fields(_KEYS, required=("id",))
        group_id = fields["id"].text() if "id" in fields else None
        if group_id in groups:
            fields["id"].fault("declared twice")
        group = _group(group_id or "", item, fields)
        if group_id is not None:
            groups.setdefault(group_id, group)
    return groups


def _group(group_id: str, item: YamlValue, fields: Mapping[str, YamlValue]) -> Group:
    group_type = _choice(fields, "type", tuple(STATES)) or "classic"
    members = _members(fields["members"]) if "members" in fields else ()
    state = _choice(fields, "state", STATES[group_type]) or ("Stable" if members else "Empty")
    if state in WITHOUT_MEMBERS and members:
        item.fault(f"a group in the state {state} has no members")
    return Group(
        group_id=group_id,
        state=state,
        group_type=group_type,
        protocol_type=_text(fields, "protocol_type", "consumer", allow_empty=True),
        protocol=_text(fields, "protocol", "range" if members else "", allow_empty=True),
        members=members,
    )


def _choice(fields: Mapping[str, YamlValue], key: str, allowed: tuple[str, ...]) -> str | None:
    text = fields[key].text() if key in fields else None
    if text is not None and text not in allowed:
        fields[key].fault(f"must be one of {', '.join(allowed)}, not {text!r}")
        return None
    return text


def _text(
    fields: Mapping[str, YamlValue], key: str, default: str, *, allow_empty: bool = False
) -> str:
    text = fields[key].text(allow_empty=allow_empty) if key in fields else None
    return default if text is None else text


def _members(value: YamlValue) -> tuple[GroupMember, ...]:
    members: list[GroupMember] = []
    ids: set[str] = set()
    owners: dict[tuple[str, int], str] = {}
    for item in value.items():
        fields = item.fields(_MEMBER_KEYS, required=("member_id",))
        member_id = _text(fields, "member_id", "")
        if member_id and member_id in ids:
            fields["member_id"].fault("declared twice in this group")
        ids.add(member_id)
        instance_id = fields["instance_id"].text() if "instance_id" in fields else None
        members.append(
            GroupMember(
                member_id=member_id,
                group_instance_id=instance_id,
                client_id=_text(fields, "client_id", "", allow_empty=True),
                client_host=_text(fields, "host", "/127.0.0.1", allow_empty=True),
                metadata=_subscription(fields.get("subscription")),
                assignment=_assignment(fields.get("assignment"), member_id, owners),
            )
        )
    return tuple(members)


def _subscription(value: YamlValue | None) -> bytes:
    if value is None:
        return subscription_bytes(())
    if value.is_text():
        return _base64(value)
    names = ((item, item.text()) for item in value.items())
    return subscription_bytes(
        [name for item, name in names if name is not None and _is_topic(item, name)]
    )


def _is_topic(value: YamlValue, name: str) -> bool:
    reason = reason_invalid(name)
    if reason is not None:
        value.fault(reason)
    return reason is None


def _base64(value: YamlValue) -> bytes:
    try:
        return base64.b64decode((value.raw_text() or "").encode(), validate=True)
    except (binascii.Error, ValueError):
        value.fault("must be a list or a mapping of topics, or base64")
        return b""


def _assignment(
    value: YamlValue | None, member_id: str, owners: dict[tuple[str, int], str]
) -> bytes:
    """Return an assignment's bytes, from partitions by topic or from base64.

    ``owners`` has the partitions of the members before it.
    """
    if value is None:
        return assignment_bytes({})
    if value.is_text():
        return _base64(value)
    return assignment_bytes(
        {
            topic: _partitions(topic, entry, member_id, owners)
            for topic, entry in value.entries().items()
            if _is_topic(entry, topic)
        }
    )


def _partitions(
    topic: str, value: YamlValue, member_id: str, owners: dict[tuple[str, int], str]
) -> list[int]:
    indexes = []
    for item in value.items():
        index = item.number(0, _PARTITION_MAX)
        if index is None:
            continue
        # A partition has one owner in a group; clients would show contradictory assignments.
        owner = owners.setdefault((topic, index), member_id)
        if owner != member_id or index in indexes:
            item.fault(f"partition {index} of {topic} is assigned to {owner} already")
        indexes.append(index)
    return indexes
