"""doorkeeper.audit.events: lines by the schema that everybody reads."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from doorkeeper.audit import events
from testkit.checkout import ROOT

SCHEMA: dict[str, Any] = json.loads(
    (ROOT / "schemas" / "records" / "audit_event.json").read_text("utf-8")
)


@pytest.mark.parametrize("kind", events.KINDS)
def test_fields_are_those_of_the_schema(kind: type[Any]) -> None:
    """The fields of each kind are written in the schema's order, kind first."""
    tag = kind.__struct_config__.tag
    declared = SCHEMA["$defs"][tag]

    assert declared["properties"]["kind"] == {"const": tag}
    assert ["kind", *kind.__struct_fields__] == declared["required"]


def test_a_line() -> None:
    """An event is one object on one line, and can be read again as what it was."""
    event = events.Stop(seq=7, node=1, ts_ns=1_000_000, time="1970-01-01T00:00:00.001Z")

    line = msgspec.json.encode(event)

    assert line == (
        b'{"kind":"stop","seq":7,"node":1,"ts_ns":1000000,"time":"1970-01-01T00:00:00.001Z"}'
    )
    assert msgspec.json.decode(line, type=events.Event) == event
