"""Tables: rows by key, of which none changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.server.schema.declared import CONFIG, StoredConfig
from doorkeeper.server.schema.kind import Table

ROWS = st.builds(
    StoredConfig, st.sampled_from(["", "1"]), st.sampled_from("abc"), st.sampled_from("xy")
)


@given(st.lists(st.tuples(st.lists(ROWS, max_size=4), st.lists(ROWS, max_size=4)), max_size=6))
def test_table_behaves_like_a_dictionary(
    changes: list[tuple[list[StoredConfig], list[StoredConfig]]],
) -> None:
    table, model = Table[StoredConfig](CONFIG), dict[tuple[str, str], StoredConfig]()
    for set_, deleted in changes:
        before, size = table, len(table)
        table = table.with_changes(set_, deleted)
        assert len(before) == size
        for row in deleted:
            model.pop((row.broker, row.name), None)
        model.update({(row.broker, row.name): row for row in set_})

    assert {(row.broker, row.name): row for row in table} == model
    assert all(table.get(*key) is row for key, row in model.items())
