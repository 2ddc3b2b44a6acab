"""doorkeeper.server.operations.audit.events: lines by the schema that everybody reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorkeeper.server.operations.audit import events
from testkit.checkout import ROOT

SCHEMA: dict[str, Any] = json.loads(
    (ROOT / "schemas" / "records" / "audit_event.json").read_text("utf-8")
)


@pytest.mark.parametrize("kind", events.KINDS)
def test_fields_are_in_schema_order(kind: type[Any]) -> None:
    tag = kind.__struct_config__.tag
    declared = SCHEMA["$defs"][tag]

    assert declared["properties"]["kind"] == {"const": tag}
    assert ["kind", *kind.__struct_fields__] == declared["required"]
