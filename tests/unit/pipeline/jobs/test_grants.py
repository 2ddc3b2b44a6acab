"""What every grant was good for: three tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper_pipeline.bindings import id_of, text_of
from doorkeeper_pipeline.evaluation.evidence import (
    NO_DOUBT,
    NO_THRESHOLDS,
    BrokerLog,
    Evidence,
)
from doorkeeper_pipeline.jobs import grants as job
from doorkeeper_pipeline.jobs.backtest import changes_by
from doorkeeper_pipeline.jobs.grants import grants
from doorkeeper_pipeline.jobs.least_privilege import least_in, principals_in
from testkit.acl import PREFIXED, READ, WRITE, allow, cluster, group, topic
from testkit.acl_commands import command_of
from testkit.histories import BEGIN, Asking, asked_of

TOPIC = ResourceType.TOPIC
ALICE = Question("User:alice", "10.0.0.1", READ, TOPIC, "orders")
BOB = Question("User:bob", "10.0.0.1", READ, TOPIC, "bills")
DAN = Question("User:dan", "10.0.0.1", WRITE, TOPIC, "orders")
FETCHED = [Asking(question=ALICE, count=5), Asking(question=ALICE, day=2), Asking(question=BOB)]
OTHER_KINDS = [
    Asking(question=DAN, api="Produce"),
    Asking(question=DAN._replace(operation=AclOperation.DESCRIBE), api="Metadata"),
]
"""Requests of the other kinds: without any of a kind it would count as not logged."""
HISTORY = [*FETCHED, *OTHER_KINDS]
WIDE = allow("alice", READ, topic("*"))
SAME = allow("alice", READ, topic("orders"))
IDLE = allow("carol", AclOperation.ALL, topic("orders"))
BINDINGS = sorted([WIDE, SAME, IDLE])


def test_three_tables(tmp_path: Path) -> None:
    """Every binding is in grant_usage."""
    found = grants(asked_of(tmp_path, HISTORY, BINDINGS))

    usage = found["grant_usage"].to_dicts()
    assert [row["binding_id"] for row in usage] == [id_of(each) for each in BINDINGS]
    assert {row["binding_id"]: row["uses"] for row in usage} == {
        id_of(WIDE): 6,
        id_of(SAME): 6,
        id_of(IDLE): 0,
    }
    assert {row["days_observed"] for row in usage} == {2}


def test_unused_grants_have_commands(tmp_path: Path) -> None:
    rows = grants(asked_of(tmp_path, HISTORY, BINDINGS))["unused_grants"].to_dicts()

    found = {row["binding_id"]: row for row in rows}
    idle, wide, same = (found[id_of(each)] for each in (IDLE, WIDE, SAME))
    assert (idle["reason"], idle["proposal"]) == ("NEVER_MATCHED", "REMOVE")
    assert idle["command"] == command_of(IDLE, remove=True)
    assert (idle["uses"], idle["last_used"], idle["days_observed"]) == (0, None, 2)
    assert idle["first_observed"] == BEGIN
    assert sorted([wide["proposal"], same["proposal"]]) == ["KEEP", "REMOVE"]
    assert (wide["covered_by"], same["covered_by"]) == ([id_of(SAME)], [id_of(WIDE)])
    assert (wide["uses"], wide["last_used"].day) == (6, BEGIN.day + 2)
    assert "" in (wide["command"], same["command"])


def test_overbroad_grants_have_alternatives(tmp_path: Path) -> None:
    [row] = grants(asked_of(tmp_path, HISTORY, BINDINGS))["overbroad_grants"].to_dicts()

    assert row["binding_id"] == id_of(WIDE)
    assert row["excess"] == ["ALL_NAMES", "ALL_HOSTS"]
    assert (row["uses"], row["covered_resource_count"], row["touched_resource_count"]) == (6, 2, 1)
    assert (row["touched_resources"], row["touched_operations"]) == (["orders"], ["READ"])
    assert row["proposal"] == [text_of(SAME)]
    assert row["commands"] == [command_of(SAME), command_of(WIDE, remove=True)]


def test_grant_that_no_command_can_replace_has_no_commands(tmp_path: Path) -> None:
    """kafka-acls.sh cuts blanks off: to remove the wide grant would take the access away."""
    reads = Question("User:alice", "10.0.0.1", READ, ResourceType.GROUP, " g")
    wide = allow("alice", READ, group("*"))
    history = [Asking(question=each) for each in (reads, reads._replace(name="g"))]
    history += [Asking(question=reads._replace(principal="User:bob", name="other")), *OTHER_KINDS]

    [row] = grants(asked_of(tmp_path, history, [wide]))["overbroad_grants"].to_dicts()

    assert len(row["proposal"]) == 2
    assert row["commands"] == []


def test_severity_is_in_each_table(tmp_path: Path) -> None:
    asked = replace(asked_of(tmp_path, HISTORY, BINDINGS), sensitive=("ord",))
    found = {name: table.to_dicts() for name, table in grants(asked).items()}

    severities = {row["binding_id"]: row["severity"] for row in found["grant_usage"]}
    assert severities == {id_of(WIDE): "HIGH", id_of(SAME): "HIGH", id_of(IDLE): "HIGH"}
    opens = {row["binding_id"]: row["opens"] for row in found["unused_grants"]}
    assert opens[id_of(IDLE)] == "sensitive topics: ord*"
    [wide] = found["overbroad_grants"]
    assert (wide["severity"], wide["opens"]) == ("HIGH", "every topic")


def test_removals_are_backtested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of(tmp_path, HISTORY, BINDINGS)
    turning = changes_by(asked, ())
    assert len(turning) == 1
    monkeypatch.setattr(job, "changes_by", lambda *_: turning)

    rows = grants(asked)["unused_grants"].to_dicts()

    assert {row["proposal"] for row in rows} == {"KEEP"}


def doubting(principal: str) -> Evidence:
    return NO_DOUBT._replace(doubtful=frozenset({principal}))


def proof_of(brokers: int | None) -> Evidence:
    logs = None if brokers is None else (BrokerLog("", frozenset()),) * brokers
    return NO_DOUBT._replace(observed=NO_DOUBT.observed._replace(logs=logs))


def test_doubtful_principals_get_no_recommendation(tmp_path: Path) -> None:
    idle = [allow("*", WRITE, topic("bills")), allow("bob", WRITE, topic("bills")), IDLE]
    asked = asked_of(tmp_path, HISTORY, sorted([*BINDINGS, *idle[:2]]))

    found = grants(replace(asked, proof=doubting("User:bob")))

    proposals = {row["binding_id"]: row for row in found["unused_grants"].to_dicts()}
    assert [proposals[id_of(each)]["proposal"] for each in idle] == [
        "NOT_ENOUGH_EVIDENCE",
        "NOT_ENOUGH_EVIDENCE",
        "REMOVE",
    ]
    assert [bool(proposals[id_of(each)]["command"]) for each in idle] == [False, False, True]


def test_wide_grant_of_a_doubtful_principal_has_no_replacement(tmp_path: Path) -> None:
    asked = asked_of(tmp_path, HISTORY, BINDINGS)

    (row,) = grants(replace(asked, proof=doubting("User:alice")))["overbroad_grants"].to_dicts()

    assert (row["binding_id"], row["proposal"], row["commands"]) == (id_of(WIDE), [], [])


def test_narrowest_of_overlapping_grants_is_kept(tmp_path: Path) -> None:
    narrow = allow("alice", READ, topic("pay.in"), "10.0.0.1")
    others = [
        allow("alice", READ, topic("pay.in")),
        allow("alice", AclOperation.ALL, topic("pay.in"), "10.0.0.1"),
        *(allow("alice", READ, topic(name, PREFIXED)) for name in ("pay", "pay.", "pay.in")),
    ]
    history = [Asking(question=ALICE._replace(name="pay.in")), *OTHER_KINDS]

    rows = grants(asked_of(tmp_path, history, sorted([narrow, *others])))["unused_grants"]

    found = {row["binding_id"]: row["proposal"] for row in rows.to_dicts()}
    assert found == {id_of(narrow): "KEEP", **dict.fromkeys(map(id_of, others), "REMOVE")}


@pytest.mark.parametrize("is_generated", [True, False])
def test_wide_grant_with_generated_names_has_no_replacement(
    tmp_path: Path, *, is_generated: bool
) -> None:
    ending = "0" if is_generated else ""
    names = [f"orders-2026-11-{day}{ending}" for day in (1, 2, 3)]
    history = [*HISTORY, *(Asking(question=ALICE._replace(name=name)) for name in names)]

    found = grants(asked_of(tmp_path, history, BINDINGS))

    wide = {row["binding_id"]: row for row in found["overbroad_grants"].to_dicts()}[id_of(WIDE)]
    assert (wide["proposal"] == []) is (wide["commands"] == []) is is_generated
    usage = {row["binding_id"]: row for row in found["grant_usage"].to_dicts()}[id_of(WIDE)]
    assert ("orders-<time> (4 names): keep the pattern" in usage["why"]) is is_generated


@pytest.mark.parametrize(
    ("logs", "asking", "api", "rule"),
    [
        (1, 2, "BrokerHeartbeat", "brokers"),
        (2, 2, "Fetch", "dormant"),
        (None, 2, "Fetch", "dormant"),
        (1, 1, "Fetch", "brokers"),
        (2, 1, "Fetch", "dormant"),
        (1, 1, "BrokerHeartbeat", "dormant"),
    ],
)
def test_brokers_without_a_log_are_reported(
    tmp_path: Path, logs: int | None, asking: int, api: str, rule: str
) -> None:
    asks = Question(
        "User:kafka", "", AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, "kafka-cluster"
    )
    brokers = [
        Asking(question=asks._replace(host=f"10.0.1.{each}"), api=api) for each in range(asking)
    ]
    # Which shows that the controllers' logs are there.
    created = Asking(question=asks._replace(operation=AclOperation.CREATE), api="CreateTopics")
    asked = asked_of(tmp_path, [*HISTORY, *brokers, created], BINDINGS)

    rows = grants(replace(asked, proof=proof_of(logs)))["unused_grants"].to_dicts()

    assert {row["rule"] for row in rows if row["binding_id"] == id_of(IDLE)} == {rule}


@pytest.mark.parametrize(
    ("api", "logs", "rule"),
    [
        ("CreateTopics", 1, "dormant"),
        ("", 1, "dormant"),
        ("Metadata", 1, "brokers"),
        ("Metadata", None, "dormant"),
    ],
)
def test_controllers_without_a_log_are_reported(
    tmp_path: Path, api: str, logs: int | None, rule: str
) -> None:
    asks = Question("User:kafka", "10.0.1.1", AclOperation.CREATE, ResourceType.TOPIC, "new")
    asked = asked_of(tmp_path, [*HISTORY, Asking(question=asks, api=api)], BINDINGS)

    rows = grants(replace(asked, proof=proof_of(logs)))["unused_grants"].to_dicts()

    assert {row["rule"] for row in rows if row["binding_id"] == id_of(IDLE)} == {rule}


def test_short_log_of_a_controller_is_reported(tmp_path: Path) -> None:
    """Two days of a controller's log do not say that nobody deleted a topic for months."""
    beat = Question(
        *("User:kafka", "10.0.1.1", AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER),
        "kafka-cluster",
    )
    for first, rule in ((98, "brokers"), (0, "unneeded")):
        history = [
            *HISTORY,
            *(Asking(question=beat, day=day, api="BrokerHeartbeat") for day in (first, 99)),
            Asking(question=ALICE, day=99),
        ]
        deletes = allow("alice", AclOperation.DELETE, topic("orders"))
        folder = tmp_path / rule
        folder.mkdir()
        limits = NO_THRESHOLDS._replace(coverage=90)
        asked = asked_of(folder, history, sorted([*BINDINGS, deletes]), thresholds=limits)

        rows = grants(replace(asked, proof=proof_of(1)))["unused_grants"].to_dicts()

        assert {row["rule"] for row in rows if row["binding_id"] == id_of(deletes)} == {rule}


@pytest.mark.parametrize(("api", "rule"), [("Metadata", "brokers"), ("CreateTopics", "dormant")])
def test_controllers_without_lines_in_a_topic_are_reported(
    tmp_path: Path, api: str, rule: str
) -> None:
    """Brokers' lines in a topic are of no file, and show who wrote them by CLUSTER_ACTION."""
    asks = Question("User:kafka", "10.0.1.1", AclOperation.CREATE, ResourceType.TOPIC, "new")
    asked = asked_of(tmp_path, [*HISTORY, QUORUM, Asking(question=asks, api=api)], BINDINGS)

    rows = grants(replace(asked, proof=proof_of(None)))["unused_grants"].to_dicts()

    assert {row["rule"] for row in rows if row["binding_id"] == id_of(IDLE)} == {rule}


def test_allowed_probes_are_no_use(tmp_path: Path) -> None:
    """A client that asks what it may do uses none of it; no other grant is kept for it."""
    describes = ALICE._replace(operation=AclOperation.DESCRIBE)
    history = [
        *FETCHED[2:],
        Asking(question=describes, api="Metadata"),
        Asking(question=ALICE._replace(operation=AclOperation.DELETE), api="Metadata", probe=True),
        Asking(question=DAN, api="Produce"),
    ]
    describing, deleting = (
        allow("alice", each, topic("orders"))
        for each in (AclOperation.DESCRIBE, AclOperation.DELETE)
    )
    bindings = tuple(sorted([describing, deleting, allow("bob", READ, topic("bills"))]))
    asked = asked_of(tmp_path, history, bindings)

    rows = {row["binding_id"]: row for row in grants(asked)["grant_usage"].to_dicts()}

    assert (rows[id_of(describing)]["rule"], rows[id_of(deleting)]["rule"]) == ("used", "unneeded")
    assert rows[id_of(deleting)]["operations"] == ["DESCRIBE"]  # which it allows too
    left = tuple(each for each in bindings if each != deleting)
    assert changes_by(asked, left).is_empty()
    assert principals_in(asked) == {"User:alice", "User:bob"}
    assert "DELETE" not in least_in(asked)["operation"].to_list()
    recorded = replace(asked, bindings=asked.bindings.clear(), answers={})
    assert "DELETE" not in least_in(recorded)["operation"].to_list()


@pytest.mark.parametrize(
    ("operation", "api", "rule"),
    [
        (AclOperation.CREATE, "CreateTopics", "cluster-first"),
        (AclOperation.CREATE, "", "cluster-first"),
        (AclOperation.DESCRIBE, "ListGroups", "cluster-first"),
        (AclOperation.DESCRIBE, "DescribeCluster", "unneeded"),
    ],
)
def test_wide_right_on_the_cluster_sends_no_narrow_grant_away(
    tmp_path: Path, operation: AclOperation, api: str, rule: str
) -> None:
    """Kafka asks for the cluster first, and does not ask about names then."""
    question = Question("User:ctl", "10.0.0.1", operation, ResourceType.CLUSTER, "kafka-cluster")
    narrow = topic("ctl-", PREFIXED) if operation is AclOperation.CREATE else group("ctl")
    granted = sorted(
        allow("ctl", operation, pattern) for pattern in (cluster("kafka-cluster"), narrow)
    )
    asked = asked_of(tmp_path, [*HISTORY, Asking(question=question, api=api)], granted)

    rows = grants(asked)["grant_usage"].to_dicts()

    assert {row["resource_type"]: row["rule"] for row in rows} == {
        "CLUSTER": "used",
        narrow.resource_type.name: rule,
    }


CREATED = Asking(
    question=Question("User:admin", "", AclOperation.CREATE, TOPIC, "new"), api="CreateTopics"
)
QUORUM = Asking(
    question=Question(
        "User:kafka", "", AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, "kafka-cluster"
    )
)


@pytest.mark.parametrize(
    ("history", "logs", "held"),
    [
        ([CREATED], None, ("READ", "WRITE", "DESCRIBE", "ALL")),
        ([CREATED, *FETCHED], None, ("WRITE", "DESCRIBE", "ALL")),
        ([CREATED, *HISTORY], None, ()),
        # Controllers fetch from each other, for which they need CLUSTER_ACTION.
        ([CREATED, QUORUM], 2, ("READ", "WRITE", "DESCRIBE", "ALL")),
        ([CREATED, replace(FETCHED[0], api="JoinGroup")], 1, ()),
        ([CREATED, replace(FETCHED[0], api="")], 1, ()),
    ],
)
def test_requests_that_are_not_logged_hold_their_grants(
    tmp_path: Path, history: list[Asking], logs: int | None, held: tuple[str, ...]
) -> None:
    """Audit topics leave out kinds of requests, and controllers have none of clients."""
    idle = {
        each.name: allow("admin", each, topic("idle"))
        for each in (READ, WRITE, AclOperation.DESCRIBE, AclOperation.ALL, AclOperation.DELETE)
    }
    asked = asked_of(tmp_path, history, sorted(idle.values()))

    rows = grants(replace(asked, proof=proof_of(logs)))["unused_grants"].to_dicts()

    rules = {row["operation"]: row["rule"] for row in rows}
    assert tuple(each for each in idle if rules[each] == "requests") == held


def test_listing_without_known_principals_is_reported(tmp_path: Path) -> None:
    strangers = [allow(f"stranger-{each}", READ, topic("orders")) for each in range(12)]

    rows = grants(asked_of(tmp_path, HISTORY, sorted([*BINDINGS, *strangers])))["grant_usage"]

    assert {row["rule"] for row in rows.to_dicts()} == {"used", "listing"}
