"""The tables of the pipeline: each ``<table>.json`` in this folder declares one.

    {
      "layer": "silver",
      "meaning": "One row is a decision that was taken once or often within a minute.",
      "partitioned_by": ["day"],
      "key": ["day", "principal"],
      "rules": [{"name": "counts are positive", "holds": "count > 0", "severity": "error"}],
      "columns": [
        {"name": "day", "type": "date", "meaning": "The day, in UTC."},
        {"name": "rule", "type": "string", "nullable": true, "meaning": "What decided."},
        {"name": "hosts", "type": {"list": "string"}, "meaning": "Where from, sorted."},
        {"name": "grant", "type": {"struct": [
          {"name": "principal", "type": "string", "meaning": "Who."}
        ]}, "meaning": "What allowed it."}
      ]
    }

``partitioned_by``, ``key``, ``rules``, ``severity`` and ``nullable`` may be left out. Types are
boolean, int16, int32, int64, double, string, binary, date, timestamp (microseconds, UTC), a list
and a struct.
"""

import json
from importlib import resources
from typing import Any

from doorkeeper_pipeline.columns import Column, ColumnType, ListOf, Rule, StructOf, Table


def _table(name: str) -> Table:
    # Read as a resource: on Spark's workers this package is in a zip.
    text = resources.files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    declared: dict[str, Any] = json.loads(text)
    columns = _columns(declared.pop("columns"))
    return Table(
        name=name,
        columns=columns,
        partitioned_by=tuple(declared.pop("partitioned_by", ())),
        key=tuple(declared.pop("key", ())),
        rules=tuple(Rule(**each) for each in declared.pop("rules", ())),
        **declared,
    )


def _columns(declared: list[dict[str, Any]]) -> tuple[Column, ...]:
    return tuple(Column(**{**column, "type": _type(column["type"])}) for column in declared)


def _type(declared: object) -> ColumnType:
    match declared:
        case {"list": item}:
            return ListOf(_type(item))
        case {"struct": list(columns)}:
            return StructOf(_columns(columns))
        case _:
            return str(declared)


AGREEMENT = _table("agreement")
BACKTEST = _table("backtest")
BINDINGS = _table("bindings")
CLIENTS = _table("clients")
DAYS = _table("days")
DECISIONS = _table("decisions")
DENIED = _table("denied")
DISTINCT_DECISIONS = _table("distinct_decisions")
DRIFT = _table("drift")
FILES = _table("files")
FINDINGS = _table("findings")
GRANT_USAGE = _table("grant_usage")
LEAST_PRIVILEGE = _table("least_privilege")
LINES = _table("lines")
NEW_ACCESS = _table("new_access")
OVERBROAD_GRANTS = _table("overbroad_grants")
QUARANTINE = _table("quarantine")
RUNS = _table("runs")
UNUSED_GRANTS = _table("unused_grants")

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        AGREEMENT,
        BACKTEST,
        BINDINGS,
        CLIENTS,
        DAYS,
        DECISIONS,
        DENIED,
        DISTINCT_DECISIONS,
        DRIFT,
        FILES,
        FINDINGS,
        GRANT_USAGE,
        LEAST_PRIVILEGE,
        LINES,
        NEW_ACCESS,
        OVERBROAD_GRANTS,
        QUARANTINE,
        RUNS,
        UNUSED_GRANTS,
    )
}
"""All tables, by name."""
