"""The table clients: what each principal asks for as a member of groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from doorkeeper.acls.model import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourceType,
)
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.observed import BY_PRINCIPAL
from doorkeeper_pipeline.tables import contents

NEWER: Final = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
"""Requests by which a member joins, gets its share, and stays."""

REQUESTS: Final = {
    "commits": ("OffsetCommit", "TxnOffsetCommit"),
    "heartbeats": ("Heartbeat", "LeaveGroup", *NEWER),
    "look_ups": ("FindCoordinator",),
    "joins": ("JoinGroup", *NEWER),
    "syncs": ("SyncGroup", *NEWER),
}
"""The columns for requests about groups, and what each counts."""

_ALLOWED_ONLY = ("commits", "heartbeats")


def clients(asked: GoldInput) -> dict[str, pl.DataFrame]:
    about_groups = pl.col("resource_type") == ResourceType.GROUP.name
    allowed = pl.col("outcome") == "ALLOWED"
    counts = {
        name: pl.col("api").is_in(apis) & about_groups & (allowed | (name not in _ALLOWED_ONLY))
        for name, apis in REQUESTS.items()
    }
    counts["fetches"] = (pl.col("api") == "Fetch") & ~about_groups & allowed
    members = sorted(_members(asked.acls.bindings))
    frame = (
        BY_PRINCIPAL.of(asked)
        .group_by("principal")
        .agg(pl.col("count").filter(rows).sum().alias(name) for name, rows in counts.items())
        .with_columns(pl.col("principal").is_in(members).alias("may_join"))
        .sort("principal")
    )
    return {"clients": contents.of_job("clients", frame)}


def _members(bindings: Iterable[AclBinding]) -> set[str]:
    """Return the principals that may join a group by an ACL of their own."""
    return {
        entry.principal
        for pattern, entry in bindings
        if pattern.resource_type is ResourceType.GROUP
        and entry.permission_type is AclPermissionType.ALLOW
        and entry.operation in (AclOperation.READ, AclOperation.ALL)
        and entry.principal != WILDCARD_PRINCIPAL
    }
