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
        {"name": "hosts", "type": {"list": "string"}, "meaning": "Where from, sorted."}
      ]
    }

``partitioned_by``, ``key``, ``rules``, ``severity`` and ``nullable`` may be left out.
"""

import json
from importlib import resources
from typing import Any

from doorkeeper_pipeline.columns import Column, Rule, Table


def _table(name: str, declared: dict[str, Any]) -> Table:
    return Table(
        name=name,
        columns=tuple(map(_column, declared.pop("columns"))),
        partitioned_by=tuple(declared.pop("partitioned_by", ())),
        key=tuple(declared.pop("key", ())),
        rules=tuple(Rule(**rule) for rule in declared.pop("rules", ())),
        **declared,
    )


def _column(declared: dict[str, Any]) -> Column:
    match declared["type"]:
        case {"list": item}:
            return Column(**{**declared, "type": item, "is_list": True})
        case _:
            return Column(**declared)


# Read as resources: on Spark's workers this package is in a zip.
_FILES = {file.name: file for file in resources.files(__name__).iterdir()}
TABLES: dict[str, Table] = {
    name.removesuffix(".json"): _table(name.removesuffix(".json"), json.loads(file.read_bytes()))
    for name, file in sorted(_FILES.items())
    if name.endswith(".json")
}
"""All tables, by name."""
