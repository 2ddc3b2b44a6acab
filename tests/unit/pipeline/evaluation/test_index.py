"""Sets of ACLs are compiled once, and sent to workers."""

import pytest

from doorkeeper_pipeline.evaluation.index import compile_index, distinct
from testkit.acl import PREFIXED, READ, allow, topic


def test_duplicate_bindings_are_rejected() -> None:
    one, other = allow("b", READ, topic("t")), allow("a", READ, topic("t"))

    with pytest.raises(ValueError, match="duplicate binding"):
        compile_index([one, other, one])
    assert distinct([one, other, one]) == (one, other)


def test_deeply_nested_prefixes() -> None:
    index = compile_index([allow("a", READ, topic("x" * size, PREFIXED)) for size in range(1, 400)])

    assert index.parents.tolist() == list(range(-1, 398))
