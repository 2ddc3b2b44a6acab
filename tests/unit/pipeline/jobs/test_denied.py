"""What was refused: the table."""

from pathlib import Path

from doorkeeper.acl.decision import Question
from doorkeeper.acl.model import ResourceType
from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.jobs.denied import denied_accesses
from doorkeeper_pipeline.schemas import DENIED
from testkit.acl import READ, allow, deny, topic
from testkit.histories import Asking, asked_of

TOPIC = ResourceType.TOPIC
BOB = Question("User:bob", "10.0.0.1", READ, TOPIC, "orders")
REFUSAL = deny("bob", READ, topic("orders"))
HISTORY = [
    Asking(question=BOB, count=3),
    Asking(question=BOB._replace(host="10.0.0.2"), day=1),
    Asking(question=BOB, probe=True, api="Metadata"),
    Asking(question=BOB._replace(principal="User:alice")),
]
BINDINGS = [REFUSAL, allow("alice", READ, topic("orders"))]


def test_refusals_and_probes(tmp_path: Path) -> None:
    """Refusals over days and addresses are one row, probes another; what was allowed is none."""
    table = denied_accesses(asked_of(tmp_path, HISTORY, BINDINGS))["denied"]

    real, probe = table.to_pylist()
    assert table.schema.equals(arrow_schema(DENIED))
    assert (real["probe"], real["count"], real["host_count"]) == (False, 4, 2)
    assert (probe["probe"], probe["count"], probe["apis"]) == (True, 1, ["Metadata"])
    assert (real["reason"], real["denied_by"]) == ("DENY", text_of(REFUSAL))
