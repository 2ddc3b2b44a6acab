"""Names of fields in the code and in Kafka's messages."""

from __future__ import annotations

from typing import Any

import yaml

from doorkeeper_schemas.reading import snake
from doorkeeper_wire.declared.fields import kafka_name
from testkit.checkout import ROOT


def names(value: Any) -> list[str]:
    """Return the names of all fields in a part of a schema file."""
    if isinstance(value, list):
        return [name for each in value for name in names(each)]
    if isinstance(value, dict):
        here = [value["name"]] if "name" in value else []
        return here + [name for each in value.values() for name in names(each)]
    return []


def test_names_are_those_of_the_schemas() -> None:
    """Kafka's name of each field comes back from its name in the code."""
    found = [
        name
        for path in (ROOT / "schemas" / "messages").glob("*.yaml")
        for name in names(yaml.safe_load(path.read_text(encoding="utf-8")))
    ]

    assert len(found) > 100
    assert {name: kafka_name(snake(name)) for name in found} == {name: name for name in found}
