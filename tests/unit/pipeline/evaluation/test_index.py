"""Sets of ACLs are compiled once, and sent to workers."""

import pickle

import numpy as np
import pytest

from doorkeeper.acl.decision import Policy
from doorkeeper.acl.model import AclOperation
from doorkeeper_pipeline.evaluation.index import NO_NODE, NO_SCORE, compile_index, distinct
from testkit.acl import LITERAL, PREFIXED, READ, WRITE, allow, deny, group, topic

ALL = AclOperation.ALL


def test_the_worked_example() -> None:
    """A DENY ALL on a literal scores 0, the ALLOW READ around it 2; the least decides."""
    index = compile_index([allow("a", READ, topic("a", PREFIXED)), deny("a", ALL, topic("ab"))])

    assert index.entry_bindings.tolist() == [1, 0]
    assert index.parents.tolist() == [NO_NODE, 0]
    assert index.best[:, READ].tolist() == [2, 0]
    assert index.best[:, WRITE].tolist() == [NO_SCORE, 0]


def test_implication_is_compiled_in() -> None:
    """ALLOW READ is also about DESCRIBE; DENY READ is about READ alone."""
    index = compile_index([allow("a", READ, topic("t")), deny("b", READ, topic("t"))])

    about = {
        bool(denies): {AclOperation(code) for code in AclOperation if asks >> code & 1}
        for denies, asks in zip(index.entry_denies, index.entry_asks.tolist(), strict=True)
    }

    assert about == {False: {READ, AclOperation.DESCRIBE}, True: {READ}}


def test_rows_are_principal_host_and_type() -> None:
    """Bindings on one principal, host and type share a row, whatever their patterns."""
    same = [allow("a", READ, topic("x")), allow("a", READ, topic("y"))]
    others = [
        allow("b", READ, topic("x")),
        allow("a", READ, topic("x"), "10.0.0.1"),
        allow("a", READ, group("x")),
    ]

    assert len(compile_index(same).rows) == 1
    assert len(compile_index(same + others).rows) == 4


def test_bindings_of_scores() -> None:
    """A score leads back to the binding, of a DENY as of an ALLOW."""
    bindings = [allow("a", READ, topic("a", PREFIXED)), deny("a", ALL, topic("ab"))]
    index = compile_index(bindings)

    assert index.bindings_of(index.best[:, READ]).tolist() == [0, 1]


def test_coverage_counts_and_names_the_only_one() -> None:
    """With allow.everyone every cell knows how many bindings cover it; of one, which."""
    bindings = [allow("a", READ, topic("a", PREFIXED)), allow("b", READ, topic("ab", LITERAL))]
    index = compile_index(bindings, Policy(allow_everyone=True))
    assert index.coverage is not None
    counts, sums = index.coverage
    kind = bindings[0].pattern.resource_type

    found = [
        (int(counts[kind, index.cells.cell(name)]), int(sums[kind, index.cells.cell(name)]))
        for name in ("a", "ab", "b")
    ]

    assert found == [(1, 0), (2, 1), (0, 0)]


def test_coverage_costs_nothing_where_it_does_not_count() -> None:
    """Without allow.everyone there is no coverage."""
    assert compile_index([allow("a", READ, topic("a"))]).coverage is None


def test_twice_the_same() -> None:
    """A set that holds a binding twice is refused; distinct() leaves the first of each."""
    one, other = allow("b", READ, topic("t")), allow("a", READ, topic("t"))

    with pytest.raises(ValueError, match="same binding twice"):
        compile_index([one, other, one])
    assert distinct([one, other, one]) == (one, other)


def test_nothing() -> None:
    """An empty set has neither rows nor nodes."""
    index = compile_index([])

    assert (index.size, index.entries, len(index.rows), len(index.parents)) == (0, 0, 0, 0)


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
