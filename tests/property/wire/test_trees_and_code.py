"""The generated code against the declared trees, for every message in every version.

The short forms leave out versions that share tree and code with the version before.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doorkeeper_wire.declared import tree
from doorkeeper_wire.reading import limit_elements
from testkit.wire_values import (
    built,
    declared_outcome,
    distinct_versions,
    generated_outcome,
    message_class,
    message_versions,
    plain,
    values,
)

EACH_LAYOUT = pytest.mark.parametrize(("name", "version"), list(distinct_versions()))
EVERY_VERSION = pytest.mark.parametrize(("name", "version"), list(message_versions()))
FEW = settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def agree_on_values(data: st.DataObject, name: str, version: int) -> None:
    """Encode a value both ways, and read the bytes back both ways, also amid other bytes."""
    declared = tree(name, version)
    value = data.draw(values(declared))

    message = built(name, value)
    encoded = message.encode(version)

    assert encoded == declared.build(value)
    assert message_class(name).decode(encoded, 0, version) == (message, len(encoded))
    assert declared_outcome(name, version, encoded) == (plain(value), len(encoded))
    padded = b"\x01\x02\x03" + encoded + b"\xff\xff"
    assert message_class(name).decode(padded, 3, version) == (message, 3 + len(encoded))


def agree_on_damage(data: st.DataObject, name: str, version: int, cuts_max: int) -> None:
    """Cut a value's bytes at so many places, and change some of them; read the rest both ways."""
    encoded = tree(name, version).build(data.draw(values(tree(name, version))))
    changes = st.tuples(st.integers(0, max(len(encoded) - 1, 0)), st.integers(0, 255))

    damaged = [encoded[:cut] for cut in range(min(len(encoded), cuts_max))]
    for place, byte in data.draw(st.lists(changes, min_size=1, max_size=12)):
        damaged.append(encoded[:place] + bytes([byte]) + encoded[place + 1 :])

    limit = data.draw(st.integers(0, 8))
    found = generated_outcome(name, version, limit_elements(encoded, limit))
    assert found == declared_outcome(name, version, limit_elements(encoded, limit))
    for attempt in damaged:
        found = generated_outcome(name, version, attempt)
        assert found == declared_outcome(name, version, attempt), attempt.hex()


@EACH_LAYOUT
@FEW
@given(data=st.data())
def test_equal_bytes_and_values(data: st.DataObject, name: str, version: int) -> None:
    """Both write the same bytes and read the same values; what follows a message is left alone."""
    agree_on_values(data, name, version)


@EACH_LAYOUT
@settings(FEW, max_examples=1)
@given(data=st.data())
def test_damaged_bytes(data: st.DataObject, name: str, version: int) -> None:
    """Damaged bytes are refused with the error of the tree, and else read as the tree reads."""
    agree_on_damage(data, name, version, cuts_max=60)


@EACH_LAYOUT
@FEW
@given(noise=st.binary(max_size=60))
def test_random_bytes(noise: bytes, name: str, version: int) -> None:
    assert generated_outcome(name, version, noise) == declared_outcome(name, version, noise)


@pytest.mark.slow
@EVERY_VERSION
@MANY
@given(data=st.data())
def test_equal_bytes_and_values_at_length(data: st.DataObject, name: str, version: int) -> None:
    """As the short form, with many more values."""
    agree_on_values(data, name, version)


@pytest.mark.slow
@EVERY_VERSION
@settings(MANY, max_examples=30)
@given(data=st.data())
def test_damaged_bytes_at_length(data: st.DataObject, name: str, version: int) -> None:
    """As the short form, with many more values."""
    agree_on_damage(data, name, version, cuts_max=400)
