"""The table of what each binding was good for."""

from doorkeeper.acl.decision import Question
from doorkeeper.acl.model import ResourceType
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.acl_sets import in_force
from doorkeeper_pipeline.evaluation.grants import grant_usage
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.usage import parts_of, sum_uses
from doorkeeper_pipeline.schemas import GRANT_USAGE
from testkit.acl import READ, allow, topic
from testkit.acl_tables import bindings_table
from testkit.asked import asked_table

USED, UNUSED = allow("a", READ, topic("orders")), allow("b", READ, topic("orders"))
QUESTION = Question("User:a", "10.0.0.1", READ, ResourceType.TOPIC, "orders")


def test_used_and_unused() -> None:
    """Every binding has a row: what was used says how, what was not says nothing."""
    acls = in_force(bindings_table([USED, UNUSED]))
    totals = sum_uses([parts_of(compile_index(acls.bindings), asked_table([QUESTION], [7]))])

    table = grant_usage(acls, totals, days_observed=3)

    used, unused = table.to_pylist()
    assert table.schema.equals(arrow_schema(GRANT_USAGE))
    assert (used["principal"], used["used"], used["decisive"], used["uses"]) == (
        "User:a",
        True,
        True,
        7,
    )
    assert (used["principals"], used["principal_count"]) == (["User:a"], 1)
    assert (used["hosts"], used["operations"], used["resources"]) == (
        ["10.0.0.1"],
        ["READ"],
        ["orders"],
    )
    assert used["days_observed"] == unused["days_observed"] == 3
    assert (unused["used"], unused["decisive"], unused["uses"]) == (False, False, 0)
    assert (unused["resources"], unused["resource_count"], unused["first_used"]) == ([], 0, None)


def test_nothing() -> None:
    """Without ACLs the table is empty; without a history nothing was used."""
    nothing = sum_uses([])

    assert grant_usage(in_force(bindings_table([])), nothing, 0).num_rows == 0
    [row] = grant_usage(in_force(bindings_table([USED])), nothing, 0).to_pylist()
    assert row["used"] is False
