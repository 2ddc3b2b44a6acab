"""Sets of ACLs are compiled once, and sent to workers."""

import pickle

import numpy as np
import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper_pipeline.evaluation.index import compile_index, distinct
from testkit.acl import PREFIXED, READ, allow, deny, topic

ALL = AclOperation.ALL


def test_twice_the_same() -> None:
    """A set that holds a binding twice is refused; distinct() leaves the first of each."""
    one, other = allow("b", READ, topic("t")), allow("a", READ, topic("t"))

    with pytest.raises(ValueError, match="same binding twice"):
        compile_index([one, other, one])
    assert distinct([one, other, one]) == (one, other)


def test_a_copy_is_the_same() -> None:
    """What reaches a worker is equal in every array."""
    index = compile_index([allow("a", READ, topic("a", PREFIXED)), deny("a", ALL, topic("*"))])

    copy = pickle.loads(pickle.dumps(index))

    for name in ("rows", "starts", "nodes", "parents", "best", "offsets", "node_entries"):
        assert np.array_equal(getattr(copy, name), getattr(index, name)), name
    assert (copy.principals, copy.hosts) == (index.principals, index.hosts)


def test_deep_nesting() -> None:
    """Prefixes within each other, hundreds deep, are a chain of nodes."""
    index = compile_index([allow("a", READ, topic("x" * size, PREFIXED)) for size in range(1, 400)])

    assert index.parents.tolist() == list(range(-1, 398))
