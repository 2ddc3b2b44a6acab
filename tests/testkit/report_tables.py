"""Tables for reports, of made-up worlds: what the pipeline's jobs make, by the slow obvious way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from doorkeeper.acl.bulk import load
from doorkeeper.acl.decision import Question
from doorkeeper.acl.explanation import Bearing, Explanation, explanation
from doorkeeper.acl.model import AclBinding, AclOperation, AclPermissionType, ResourceType
from doorkeeper_pipeline.columns import ListOf, Table
from doorkeeper_pipeline.schemas import TABLES, arrow_schema
from doorkeeper_pipeline.worlds.grants import proposal_of
from doorkeeper_pipeline.worlds.tables import decisions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from doorkeeper_pipeline.worlds.traffic import World

    Rows = list[dict[str, Any]]

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
_ZERO: dict[str, Any] = {
    "string": "",
    "int64": 0,
    "int32": 0,
    "boolean": False,
    "timestamp": BEGIN,
    "date": BEGIN.date(),
}


def named(name: str) -> Table:
    """Return a declared table."""
    return TABLES[name]


def table_of(name: str, rows: Iterable[Mapping[str, Any]]) -> pl.LazyFrame:
    """Return rows as a table; what a row leaves out is null, or empty where it may not be."""
    table = named(name)
    whole = [
        {
            column.name: row[column.name]
            if column.name in row
            else None
            if column.nullable
            else []
            if isinstance(column.type, ListOf)
            else _ZERO[str(column.type)]
            for column in table.columns
        }
        for row in rows
    ]
    arrow = pa.Table.from_pylist(whole, schema=arrow_schema(table))
    return pl.DataFrame(arrow).lazy()


def tables_of(world: World, count: int, *, days: int = 7) -> dict[str, pl.LazyFrame]:
    """Return all tables that a report shows, for so many events of a world."""
    decisions = pl.DataFrame(decisions_of(world, count, days=days))
    usage = _usage(world, decisions)
    return {
        "decisions": decisions.lazy(),
        "denied": table_of("denied", _denied(decisions)),
        "grant_usage": table_of("grant_usage", usage),
        "unused_grants": table_of("unused_grants", _unused(usage)),
        "overbroad_grants": table_of("overbroad_grants", _overbroad(usage)),
        "least_privilege": table_of("least_privilege", _least(decisions)),
        "backtest": table_of("backtest", _turns(world, decisions)),
        "drift": table_of("drift", _drift(world)),
        "new_access": table_of("new_access", _new(decisions)),
        "agreement": table_of("agreement", _agreement(decisions)),
        "quarantine": table_of("quarantine", _quarantine()),
        "files": table_of("files", _files(count)),
        "runs": table_of("runs", [{"warnings": ["One file grew while it was read."]}]),
    }


def _fields(binding: AclBinding) -> dict[str, Any]:
    (kind, name, pattern_type), entry = binding
    return {
        "resource_type": kind.name,
        "resource_name": name,
        "pattern_type": pattern_type.name,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation.name,
        "permission_type": entry.permission_type.name,
    }


def _explained(world: World, row: dict[str, Any], bindings: Any) -> Explanation:
    question = Question(
        row["principal"],
        row["host"],
        AclOperation[row["operation"]],
        ResourceType[row["resource_type"]],
        row["resource_name"],
    )
    return explanation(world.policy, bindings, question)


def _usage(world: World, decisions: pl.DataFrame) -> Rows:
    snapshot = load((f"acl-{number}", each) for number, each in enumerate(world.bindings))
    rows = {
        each: _fields(each) | {"binding_id": f"acl-{number}", "resources": [], "principals": []}
        for number, each in enumerate(world.bindings)
    }
    asked = ("principal", "host", "operation", "resource_type", "resource_name")
    grouped = decisions.group_by(asked, maintain_order=True).agg(
        pl.col("count").sum(), pl.col("first_ts").min(), pl.col("last_ts").max()
    )
    for row in grouped.to_dicts():
        found = _explained(world, row, snapshot)
        deciding = Bearing.ALLOWS, Bearing.IMPLIES
        if any(each.bearing is Bearing.DENIES for each in found.considered):
            deciding = Bearing.DENIES, Bearing.DENIES
        used = [each.binding for each in found.considered if each.bearing in deciding]
        for binding in used:
            _count(rows[binding], row, decisive=len(used) == 1)
    return list(rows.values())


def _count(usage: dict[str, Any], row: dict[str, Any], *, decisive: bool) -> None:
    usage["used"] = True
    usage["uses"] = usage.get("uses", 0) + row["count"]
    usage["decisive"] = usage.get("decisive", False) or decisive
    usage["resources"] = sorted({*usage["resources"], row["resource_name"]})
    usage["principals"] = sorted({*usage["principals"], row["principal"]})
    usage["resource_count"] = len(usage["resources"])
    usage["last_used"] = max(usage.get("last_used", row["last_ts"]), row["last_ts"])


def _unused(usage: Rows) -> Rows:
    return [
        row
        | {
            "reason": "COVERED" if row.get("used") else "NEVER_MATCHED",
            "proposal": "KEEP" if row.get("used") and number % 2 else "REMOVE",
            "command": _command("--remove --force", row),
        }
        for number, row in enumerate(usage)
        if not row.get("decisive")
    ]


def _overbroad(usage: Rows) -> Rows:
    found = []
    for row in usage:
        excess = [
            word
            for word, wide in (
                ("ALL_NAMES", row["resource_name"] == "*"),
                ("PREFIX", row["pattern_type"] == "PREFIXED"),
                ("ALL_PRINCIPALS", row["principal"] == "User:*"),
                ("ALL_OPERATIONS", row["operation"] == "ALL"),
            )
            if wide
        ]
        if not excess or not row.get("used") or row["permission_type"] == "DENY":
            continue
        instead = [
            row | {"resource_name": name, "pattern_type": "LITERAL"} for name in row["resources"]
        ]
        found.append(
            row
            | {
                "excess": excess,
                "touched_principals": row["principals"],
                "touched_resources": row["resources"],
                "touched_resource_count": row["resource_count"],
                "covered_resource_count": row["resource_count"] * 7,
                "proposal": [_text(each) for each in instead],
                "commands": [_command("--add", each) for each in instead],
            }
        )
    return found


def _denied(decisions: pl.DataFrame) -> Rows:
    grouped = (
        decisions.filter(pl.col("outcome") == "DENIED")
        .group_by("principal", "operation", "resource_type", "resource_name", "rule_binding")
        .agg(
            pl.col("count").sum(),
            pl.col("first_ts").min(),
            pl.col("last_ts").max(),
            pl.col("host").unique().sort().alias("hosts"),
            pl.col("api").unique().sort().alias("apis"),
        )
    )
    return [
        row
        | {
            "host_count": len(row["hosts"]),
            "reason": "DENY" if row["rule_binding"] else "NO_ACL",
            "denied_by": row["rule_binding"],
            "grant_text": "" if row["rule_binding"] else _text(row | _LITERAL),
            "command": _command("--remove" if row["rule_binding"] else "--add", row | _LITERAL),
        }
        for row in grouped.to_dicts()
    ]


_LITERAL = {"pattern_type": "LITERAL", "host": "*", "permission_type": "ALLOW"}


def _least(decisions: pl.DataFrame) -> Rows:
    grouped = (
        decisions.filter(pl.col("outcome") == "ALLOWED")
        .group_by("principal", "operation", "resource_type", "resource_name")
        .agg(pl.col("count").sum().alias("support"), pl.col("last_ts").max().alias("last_used"))
        .to_dicts()
    )
    return [
        row
        | _LITERAL
        | {
            "kind": "LITERAL",
            "resources": [row["resource_name"]],
            "resource_count": 1,
            "newly_allows": 0,
            "command": _command("--add", row | _LITERAL),
        }
        for row in grouped
    ]


def _turns(world: World, decisions: pl.DataFrame) -> Rows:
    old = load((str(number), each) for number, each in enumerate(world.bindings))
    new = load((str(number), each) for number, each in enumerate(proposal_of(world.bindings)))
    found = []
    asked = ("principal", "host", "operation", "resource_type", "resource_name")
    grouped = decisions.group_by(asked).agg(
        pl.col("count").sum(), pl.col("first_ts").min(), pl.col("last_ts").max()
    )
    for row in grouped.to_dicts():
        before, after = (_explained(world, row, each).decision for each in (old, new))
        if before.allowed is not after.allowed:
            found.append(
                row
                | {
                    "turn": "ALLOW_TO_DENY" if before.allowed else "DENY_TO_ALLOW",
                    "rule_before": before.rule.value,
                    "rule_after": after.rule.value,
                    "binding_before": before.binding and _text(_fields(before.binding)),
                    "binding_after": after.binding and _text(_fields(after.binding)),
                }
            )
    return found


def _drift(world: World) -> Rows:
    old, new = set(world.bindings), set(proposal_of(world.bindings))
    return [
        _fields(each)
        | {
            "change": "ADDED" if each in new else "REMOVED",
            "at": BEGIN + timedelta(minutes=37 * number),
            "by": "User:admin",
        }
        for number, each in enumerate(sorted(old ^ new))
    ]


def _new(decisions: pl.DataFrame) -> Rows:
    since = decisions["first_ts"].min() + timedelta(days=5)  # type: ignore[operator]
    summed = (
        pl.col("count").sum(),
        pl.col("first_ts").min(),
        pl.col("last_ts").max(),
        pl.col("count").filter(pl.col("outcome") == "DENIED").sum().alias("denied"),
    )
    found: Rows = []
    for kind, by in (
        ("PRINCIPAL", ["principal"]),
        ("HOST", ["principal", "host"]),
        ("RESOURCE", ["principal", "resource_type", "resource_name"]),
    ):
        grouped = decisions.group_by(by).agg(*summed).filter(pl.col("first_ts") >= since)
        found += [row | {"kind": kind, "since": since} for row in grouped.to_dicts()]
    return found


def _agreement(decisions: pl.DataFrame) -> Rows:
    """Return one contradiction for each principal, of all of its decisions but one."""
    by_outcome = decisions.group_by("principal", "outcome", "rule").agg(pl.col("count").sum())
    return [
        row | {"outcome_now": "DENIED", "rule_now": "DefaultDeny", "agreeing": row["count"] - 1}
        for row in by_outcome.sort("principal", "outcome", "rule").to_dicts()
    ]


def _quarantine() -> Rows:
    texts = ("\tat kafka.server.KafkaApis.handle", "[2026-11-02 10:11:12,345] INFO Principal = U")
    return [
        {
            "file": f"logs/kafka-authorizer.log.2026-11-0{number % 7 + 1}-00",
            "byte_offset": 4_711 * number,
            "reason": ("no moment at the beginning", "ends before the resource")[number % 2],
            "text": texts[number % 2],
        }
        for number in range(1, 13)
    ]


def _files(count: int) -> Rows:
    return [
        {
            "path": f"logs/kafka-authorizer.log.2026-11-0{number + 1}-00",
            "source": "authorizer-log",
            "lines": count // 7 + 2,
            "decisions": count // 7,
            "quarantined": 2 if number < 6 else 0,
            "first_ts": BEGIN + timedelta(days=number),
            "last_ts": BEGIN + timedelta(days=number, hours=23, minutes=59),
        }
        for number in range(7)
    ]


def _text(row: Mapping[str, Any]) -> str:
    return (
        f"{row['permission_type']} {row['operation']} on {row['resource_type']}"
        f" {row['pattern_type']} {row['resource_name']} for {row['principal']} from {row['host']}"
    )


def _command(what: str, row: Mapping[str, Any]) -> str:
    allows = row.get("permission_type") != AclPermissionType.DENY.name
    return (
        f"kafka-acls.sh --bootstrap-server localhost:9092 {what}"
        f" --{'allow' if allows else 'deny'}-principal '{row['principal']}'"
        f" --operation {row['operation'].title()} --{row['resource_type'].lower()}"
        f" '{row['resource_name']}' --resource-pattern-type {row['pattern_type'].lower()}"
    )
