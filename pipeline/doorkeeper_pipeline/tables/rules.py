"""Conditions of each row of a table: rules as data, each a predicate in SQL.

A rule of severity ERROR stops the job before anything is replaced. A rule of severity WARNING is
counted, and the count is told and kept in the table ``runs``.
"""

from __future__ import annotations

from dataclasses import dataclass

ERROR = "error"
WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: its name, its condition, and the severity of a violation."""

    name: str
    predicate: str
    severity: str = ERROR


_COUNTS_ARE_POSITIVE = Rule(name="counts are positive", predicate="count > 0")
_PRINCIPAL = "principal LIKE '%:%'"

_DECISION = (
    Rule(name="outcome is known", predicate="outcome IN ('ALLOWED', 'DENIED')"),
    _COUNTS_ARE_POSITIVE,
    Rule(name="time runs forward", predicate="first_ts <= last_ts"),
    Rule(name="principal has a type", predicate=_PRINCIPAL, severity=WARNING),
    Rule(name="resource has a name", predicate="resource_name <> ''", severity=WARNING),
)
_BINDING = (
    Rule(name="permission is known", predicate="permission_type IN ('ALLOW', 'DENY')"),
    Rule(name="pattern is known", predicate="pattern_type IN ('LITERAL', 'PREFIXED')"),
    Rule(name="principal has a type", predicate=_PRINCIPAL),
)

RULES: dict[str, tuple[Rule, ...]] = {
    "lines": _DECISION,
    "decisions": _DECISION,
    "distinct_decisions": _DECISION,
    "bindings": (
        *_BINDING,
        Rule(
            name="time runs forward",
            predicate="valid_to IS NULL OR valid_from IS NULL OR valid_from <= valid_to",
        ),
    ),
    "days": (
        Rule(name="outcome is known", predicate="outcome IN ('ALLOWED', 'DENIED')"),
        _COUNTS_ARE_POSITIVE,
        Rule(name="time runs forward", predicate="first_ts <= last_ts"),
    ),
    "clients": (
        Rule(
            name="counts are not negative",
            predicate=" AND ".join(
                f"{name} >= 0"
                for name in ("fetches", "commits", "heartbeats", "look_ups", "joins", "syncs")
            ),
        ),
    ),
    "grant_usage": (
        *_BINDING,
        Rule(name="used agrees with uses", predicate="used = (uses > 0)"),
        Rule(name="decisive agrees with its uses", predicate="decisive = (decisive_uses > 0)"),
    ),
    "unused_grants": (
        *_BINDING,
        Rule(
            name="proposal is known",
            predicate="proposal IN ('REMOVE', 'KEEP', 'ASK', 'NOT_ENOUGH_EVIDENCE')",
        ),
    ),
    "overbroad_grants": _BINDING,
    "findings": (
        Rule(name="action is known", predicate="action IN ('DECIDE', 'SAFE')"),
        Rule(name="time runs forward", predicate="gone IS NULL OR first_seen <= gone"),
    ),
    "least_privilege": (
        *_BINDING,
        Rule(name="each has support", predicate="support > 0"),
    ),
    "agreement": (
        _COUNTS_ARE_POSITIVE,
        Rule(name="outcome is known", predicate="outcome IN ('ALLOWED', 'DENIED')"),
        Rule(name="at most all agree", predicate="agreeing <= count AND unlisted <= count"),
    ),
    "backtest": (
        Rule(name="turn is known", predicate="turn IN ('ALLOW_TO_DENY', 'DENY_TO_ALLOW')"),
        _COUNTS_ARE_POSITIVE,
    ),
    "denied": (
        _COUNTS_ARE_POSITIVE,
        Rule(
            name="reason is known",
            predicate="reason IN ('NO_ACL', 'DENY', 'ALLOWED_NOW', 'UNKNOWN')",
        ),
        Rule(
            name="only a missing grant has a command",
            predicate="command = '' OR cause = 'MISSING_GRANT'",
        ),
    ),
    "drift": (
        *_BINDING,
        Rule(name="change is known", predicate="change IN ('ADDED', 'REMOVED')"),
    ),
    "new_access": (
        Rule(name="kind is known", predicate="kind IN ('PRINCIPAL', 'HOST', 'RESOURCE')"),
        Rule(name="seen in the window", predicate="first_ts >= since"),
    ),
    "quarantine": (
        Rule(name="a reason is given", predicate="reason <> ''"),
        Rule(name="offsets are not negative", predicate="byte_offset >= 0 AND byte_length >= 0"),
    ),
    "files": (
        Rule(
            name="counts are not negative",
            predicate="lines >= 0 AND decisions >= 0 AND ignored >= 0 AND quarantined >= 0",
        ),
    ),
    "runs": (Rule(name="time runs forward", predicate="started <= finished"),),
}
"""The rules of each table."""

KEYS: dict[str, tuple[str, ...]] = {
    "lines": (),
    "decisions": (
        "day",
        "minute",
        "principal",
        "host",
        "operation",
        "resource_type",
        "resource_name",
        "outcome",
        "api",
        "rule",
        "rule_binding",
        "probe",
        "source",
        "cluster",
    ),
    "distinct_decisions": (
        "span",
        "principal",
        "host",
        "operation",
        "resource_type",
        "resource_name",
        "outcome",
        "api",
        "rule",
        "rule_binding",
        "probe",
    ),
    "bindings": ("binding_id", "valid_from"),
    "days": ("day", "outcome"),
    "clients": ("principal",),
    "agreement": ("principal", "outcome", "rule", "outcome_now", "rule_now"),
    "grant_usage": ("binding_id",),
    "unused_grants": ("binding_id",),
    "overbroad_grants": ("binding_id",),
    "findings": ("finding_id",),
    "least_privilege": (
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    ),
    "backtest": ("principal", "host", "operation", "resource_type", "resource_name"),
    "denied": ("principal", "operation", "resource_type", "resource_name", "probe"),
    "drift": ("binding_id", "change", "at"),
    "new_access": ("kind", "principal", "host", "resource_type", "resource_name"),
    "quarantine": ("file_id", "byte_offset"),
    "files": ("file_id",),
    "runs": ("run_id",),
}
"""The columns that name a row; empty where parts of a file may repeat one."""
