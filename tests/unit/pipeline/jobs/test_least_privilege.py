"""For each principal the smallest set that allows all that was used: the table."""

from pathlib import Path

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import ResourceType
from doorkeeper_pipeline.bindings import id_of
from doorkeeper_pipeline.jobs.least_privilege import least_privilege
from testkit.acl import DESCRIBE, READ, allow, deny, topic
from testkit.acl_commands import command_of
from testkit.histories import Asking, asked_of

TOPIC = ResourceType.TOPIC
ALICE = Question("User:alice", "10.0.0.1", READ, TOPIC, "orders")
HISTORY = [
    Asking(question=ALICE, count=3),
    Asking(question=ALICE._replace(operation=DESCRIBE), count=2, day=1),
    Asking(question=ALICE._replace(name="secret")),
    Asking(question=ALICE._replace(principal="User:admin")),
]
BINDINGS = [allow("*", READ, topic("*")), deny("alice", READ, topic("secret"))]
POLICY = Policy(super_users=frozenset({"User:admin"}))


def test_least_privilege_table(tmp_path: Path) -> None:
    table = least_privilege(asked_of(tmp_path, HISTORY, BINDINGS, policy=POLICY))["least_privilege"]

    [row] = table.to_dicts()
    grant = allow("alice", READ, topic("orders"))
    assert (row["binding_id"], row["kind"], row["support"]) == (id_of(grant), "LITERAL", 5)
    assert (row["resources"], row["resource_count"]) == (["orders"], 1)
    assert row["command"] == command_of(grant)


def test_least_privilege_without_acls(tmp_path: Path) -> None:
    asked = asked_of(tmp_path, HISTORY, BINDINGS, policy=POLICY, known=False)

    [row] = least_privilege(asked)["least_privilege"].to_dicts()

    assert (row["principal"], row["operation"], row["support"]) == ("User:alice", "READ", 5)
