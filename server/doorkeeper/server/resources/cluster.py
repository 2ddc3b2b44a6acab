"""Nodes and groups of a cluster."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Broker(Struct, frozen=True):
    """A node with its advertised address.

    ``fenced_ms`` is the time at which it ceased to live, since the epoch; None of a live node.
    """

    node_id: int
    host: str
    port: int
    rack: str | None = None
    fenced_ms: int | None = None

    @property
    def is_fenced(self) -> bool:
        """Return whether the node is registered, but does not live."""
        return self.fenced_ms is not None


class Member(Struct, frozen=True):
    """A registered node.

    ``addresses`` are host and port by the name of the listener. ``secret`` is the hexadecimal
    fingerprint of its delegation token secret; empty without one. ``fenced_ms`` is as in
    ``Broker``.
    """

    node_id: int
    addresses: Mapping[str, tuple[str, int]]
    rack: str | None
    secret: str
    fenced_ms: int | None = None

    @property
    def is_fenced(self) -> bool:
        """Return whether the node is registered, but does not live."""
        return self.fenced_ms is not None


class NewerMember(Struct, frozen=True):
    """The fields of a member that the new protocol adds.

    ``matched`` are the topics of its pattern. ``target`` is the assignment that it shall have, as
    bytes of the consumer protocol; None where it has that already. ``is_classic``: the member uses
    the classic protocol all the same (KIP-848).
    """

    epoch: int = 1
    rack_id: str | None = None
    pattern: str | None = None
    matched: frozenset[str] = frozenset()
    target: bytes | None = None
    is_classic: bool = False


class GroupMember(Struct, frozen=True):
    """A member of a group; ``metadata`` and ``assignment`` are the consumer protocol's bytes."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes
    newer: NewerMember = NewerMember()


class Group(Struct, frozen=True):
    """A group. ``group_type`` is ``classic`` or ``consumer``.

    ``generation`` is that of a group with members that joined, its epoch where the type is
    ``consumer``; None for one that commits have created.
    ``assignment_epoch`` is that of the targets of the members.
    """

    group_id: str
    state: str
    group_type: str
    protocol_type: str
    protocol: str
    members: tuple[GroupMember, ...]
    generation: int | None = None
    assignment_epoch: int = 1
