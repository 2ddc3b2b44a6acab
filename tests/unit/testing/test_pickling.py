"""Values for a process that has none of the test's modules."""

from __future__ import annotations

import pickle
from enum import IntEnum, StrEnum

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.testing.pickling import dumps


class Name(StrEnum):
    """A text with a name."""

    ALICE = "alice"


class Number(IntEnum):
    """A number with a name."""

    THREE = 3


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Name.ALICE, "alice"),
        (True, True),
        (None, None),
        ({Name.ALICE: [(Number.THREE,)]}, {"alice": [(3,)]}),
        (AclOperation.READ, AclOperation.READ),
    ],
)
def test_what_the_test_has_classes_for_is_plain(value: object, plain: object) -> None:
    """A value arrives as what it is made from, wherever it stands; the server's own stay."""
    loaded = pickle.loads(dumps(value))

    assert loaded == plain
    assert repr(loaded) == repr(plain)
