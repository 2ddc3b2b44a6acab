"""The table of bindings, as the evaluator takes it."""

import datetime as dt

import polars as pl

from doorkeeper_pipeline.bindings import id_of, row_of
from doorkeeper_pipeline.evaluation.acl_sets import in_force
from testkit.acl import READ, WRITE, allow, topic
from testkit.acl_tables import bindings_table

TIME = pl.Datetime("us", "UTC")
REMOVED = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ONE, OTHER = allow("b", READ, topic("t")), allow("a", WRITE, topic("s"))


def test_existing_bindings_are_in_force() -> None:
    table = bindings_table([ONE, OTHER, allow("c", READ, topic("gone"))])
    table = table.with_columns(valid_to=pl.Series([None, None, REMOVED], dtype=TIME))

    found = in_force(table)

    assert found.bindings == (OTHER, ONE)
    assert found.ids == [id_of(OTHER), id_of(ONE)]
    assert (found.known_from, found.given) == ((None, None), (False, False))
    assert found.rows.row(1) == (1, *row_of(ONE).values())


def test_recreated_binding_is_in_force_once() -> None:
    table = bindings_table([ONE, ONE])
    table = table.with_columns(
        binding_id=pl.Series(["first", "second"]), valid_to=pl.Series([REMOVED, None], dtype=TIME)
    )

    found = in_force(table)

    assert (found.bindings, found.ids) == ((ONE,), ["second"])
