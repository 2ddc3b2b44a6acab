"""Fields that are read one by one against the declared trees, for every layout."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doorkeeper_wire.declared import tree
from doorkeeper_wire.declared.fields import FieldReader, kafka_name
from doorkeeper_wire.errors import Malformed
from testkit.wire_values import declared_outcome, distinct_versions, values

EACH_LAYOUT = pytest.mark.parametrize(("name", "version"), list(distinct_versions()))
FEW = settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))


def read_end(name: str, version: int, data: bytes) -> int | None:
    """Return where the message ends; None when it is refused, at an offset within the data."""
    reader = FieldReader(data)
    fault: Malformed | None = None
    try:
        for field in reader.read(name, version):
            assert 0 <= field.offset <= field.offset + field.size <= len(data)
    except Malformed as error:
        fault = error
    if fault is None:
        return reader.position
    assert fault.field
    assert 0 <= fault.offset <= len(data)
    return None


@EACH_LAYOUT
@FEW
@given(data=st.data())
def test_same_verdicts_and_values(data: st.DataObject, name: str, version: int) -> None:
    """Whole, cut and changed messages are taken or refused as by the tree, with the same end.

    Plain fields at the top of a whole message have the values that the tree reads.
    """
    declared = tree(name, version)
    encoded = declared.build(data.draw(values(declared)))
    attempts = [encoded[:cut] for cut in range(min(len(encoded), 30))] + [encoded, encoded + b"?"]
    changes = st.tuples(st.integers(0, max(len(encoded) - 1, 0)), st.integers(0, 255))
    for place, byte in data.draw(st.lists(changes, max_size=8)):
        attempts.append(encoded[:place] + bytes([byte]) + encoded[place + 1 :])

    for attempt in attempts:
        outcome = declared_outcome(name, version, attempt)
        assert read_end(name, version, attempt) == (outcome and outcome[1]), attempt.hex()
    parsed = declared.parse(encoded)
    names = {kafka_name(part.name): part.name for part in declared.subcons}
    for field in FieldReader(encoded).read(name, version):
        if field.depth == 0 and field.type not in {"array", "struct", "null"}:
            assert field.value == parsed[names[field.path]]
