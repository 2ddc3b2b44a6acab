"""Decisions and changes of ACLs as events of OCSF 1.5, one JSON object a line, for a SIEM.

6003 API Activity            a row of ``decisions``, with its count and first and last time
3005 User Access Management  an ACL that came or went, a row of ``bindings``

Kafka's words without a place in OCSF (operation, pattern type, host of an ACL, probe) are in
``unmapped``.

Source: schema.ocsf.io, with the profile security_control, which has allowed and denied.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from doorkeeper_pipeline.jobs.belonging import cluster_in
from doorkeeper_pipeline.tables import contents
from doorkeeper_pipeline.tables.delta import Tables

Row = Mapping[str, Any]
Event = dict[str, Any]

VERSION = "1.5.0"
API_ACTIVITY = 6003
USER_ACCESS = 3005
CREATE, READ, UPDATE, DELETE, OTHER = 1, 2, 3, 4, 99
ASSIGN, REVOKE = 1, 2
INFORMATIONAL, LOW = 1, 2

ACTIVITIES = {
    **dict.fromkeys(("CREATE", "CREATE_TOKENS"), CREATE),
    **dict.fromkeys(("READ", "DESCRIBE", "DESCRIBE_CONFIGS", "DESCRIBE_TOKENS"), READ),
    **dict.fromkeys(("WRITE", "IDEMPOTENT_WRITE", "ALTER", "ALTER_CONFIGS"), UPDATE),
    "DELETE": DELETE,
    "TWO_PHASE_COMMIT": UPDATE,
}
"""The activity of an operation; others, as CLUSTER_ACTION, are Other by their name."""


def events_of(
    out: Path | str, version: str, *, cluster: str = "", since: dt.datetime | None = None
) -> Iterator[Event]:
    """Yield the events of a cluster in an output folder: changes of ACLs, then decisions by day.

    Those whose last time is before ``since`` are left out.

    Raises:
        Conflicting: there are several clusters, and none of them is given.
        Unreadable: a table is damaged.

    """
    tables = Tables(out)
    chosen = cluster_in(tables, cluster)
    for row in chosen.own(tables.read("bindings")).iter_rows(named=True):
        for at, activity in ((row["valid_from"], ASSIGN), (row["valid_to"], REVOKE)):
            if at is not None and (since is None or at >= since):
                yield access_event(row, at, activity, version)
    for part in chosen.files_of(tables.parts("decisions")):
        if since is not None and dict(part.partition)["day"] < since.date().isoformat():
            continue
        rows = contents.scan("decisions", [tables.place_of(part)])
        if since is not None:
            rows = rows.filter(pl.col("last_ts") >= since)
        for row in rows.collect().iter_rows(named=True):
            yield decision_event(row, version)


def lines_of(events: Iterator[Event]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    for event in events:
        yield encode(event) + b"\n"


def decision_event(row: Row, version: str) -> Event:
    """Return a row of decisions as an event of API Activity."""
    operation, is_allowed = row["operation"], row["outcome"] == "ALLOWED"
    activity = ACTIVITIES.get(operation, OTHER)
    service = {"name": "kafka", **({"uid": row["cluster"]} if row["cluster"] else {})}
    actor: Event = {"user": _user(row["principal"])}
    if row["rule"]:
        policy = {"name": row["rule"], "desc": row["rule_binding"]}
        actor["authorizations"] = [
            {"decision": row["outcome"], "policy": {k: v for k, v in policy.items() if v}}
        ]
    return {
        **_base(API_ACTIVITY, 6, activity, row["last_ts"], version),
        **({"activity_name": operation} if activity == OTHER else {}),
        "severity_id": INFORMATIONAL if is_allowed or row["probe"] else LOW,
        "status_id": 1 if is_allowed else 2,
        "action_id": 1 if is_allowed else 2,
        "count": row["count"],
        "start_time": _ms(row["first_ts"]),
        "end_time": _ms(row["last_ts"]),
        "actor": actor,
        "src_endpoint": _endpoint(row["host"]),
        "api": {"operation": row["api"] or operation, "service": service},
        "resources": [_resource(row)],
        "unmapped": {"operation": operation, "probe": row["probe"], "source": row["source"]},
    }


def access_event(row: Row, at: dt.datetime, activity: int, version: str) -> Event:
    """Return an ACL that came or went as an event of User Access Management.

    To add a DENY is not to assign a privilege: it is Other, by its name.
    """
    verb = "add" if activity == ASSIGN else "remove"
    text = " ".join(row[name] for name in ("permission_type", "operation", "resource_type"))
    is_allow = row["permission_type"] == "ALLOW"
    by = row["created_by"] if activity == ASSIGN else row["removed_by"]
    return {
        **_base(USER_ACCESS, 3, activity if is_allow else OTHER, at, version),
        **({} if is_allow else {"activity_name": f"{verb} DENY"}),
        "severity_id": INFORMATIONAL,
        "status_id": 1,
        "message": f"{verb} ACL: {row['principal']} {text} {row['pattern_type']}"
        f" {row['resource_name']} from {row['host']}",
        "user": _user(row["principal"]),
        "privileges": [row["operation"]],
        "resources": [_resource(row)],
        **({"actor": {"user": _user(by)}} if by else {}),
        "unmapped": {
            name: row[name] for name in ("permission_type", "pattern_type", "host", "binding_id")
        },
    }


def _base(kind: int, category: int, activity: int, at: dt.datetime, version: str) -> Event:
    product = {"name": "Doorkeeper", "vendor_name": "Doorkeeper", "version": version}
    return {
        "metadata": {"version": VERSION, "product": product, "profiles": ["security_control"]},
        "category_uid": category,
        "class_uid": kind,
        "activity_id": activity,
        "type_uid": 100 * kind + activity,
        "time": _ms(at),
    }


def _resource(row: Row) -> Event:
    return {"type": row["resource_type"], "name": row["resource_name"]}


@cache
def _user(principal: str) -> Event:
    return {"uid": principal, "name": principal.partition(":")[2] or principal}


@cache
def _endpoint(host: str) -> Event:
    """Return a client's host: an address, or a text of another authorizer."""
    try:
        return {"ip": str(ipaddress.ip_address(host))}
    except ValueError:
        return {"name": host or "unknown"}


def _ms(at: dt.datetime) -> int:
    return int(at.timestamp() * 1000)
