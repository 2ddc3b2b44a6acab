"""Who breaks under another set: the table."""

from pathlib import Path

from doorkeeper.acl.decision import Question
from doorkeeper.acl.model import ResourceType
from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.jobs.backtest import backtest
from doorkeeper_pipeline.schemas import BACKTEST
from testkit.acl import READ, allow, deny, topic
from testkit.histories import BEGIN, Asking, asked_of

TOPIC = ResourceType.TOPIC
ALICE = Question("User:alice", "10.0.0.1", READ, TOPIC, "orders")
BOB = Question("User:bob", "10.0.0.1", READ, TOPIC, "orders")
HISTORY = [Asking(question=BOB), Asking(question=ALICE, count=5), Asking(question=ALICE, day=2)]
GRANT = allow("alice", READ, topic("orders"))
REFUSAL = deny("alice", READ, topic("*"))


def test_who_breaks(tmp_path: Path) -> None:
    """A decision is one row over all days, with the texts of both bindings."""
    table = backtest(asked_of(tmp_path, HISTORY, [GRANT]), [REFUSAL])

    [row] = table.to_pylist()
    assert table.schema.equals(arrow_schema(BACKTEST))
    assert (row["principal"], row["turn"], row["count"]) == ("User:alice", "ALLOW_TO_DENY", 6)
    assert row["first_ts"] == BEGIN
    assert row["last_ts"].day == BEGIN.day + 2
    assert (row["rule_before"], row["binding_before"]) == ("MatchingAcl", text_of(GRANT))
    assert (row["rule_after"], row["binding_after"]) == ("MatchingAcl", text_of(REFUSAL))


def test_without_a_set_in_force(tmp_path: Path) -> None:
    """Where no ACLs are given, what was recorded is what there was before."""
    asked = asked_of(tmp_path, HISTORY, [GRANT], known=False)

    [row] = backtest(asked, []).to_pylist()

    assert (row["principal"], row["turn"], row["count"]) == ("User:alice", "ALLOW_TO_DENY", 6)
    assert (row["rule_before"], row["binding_before"]) == ("MatchingAcl", None)
