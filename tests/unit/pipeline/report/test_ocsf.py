"""Events for a SIEM, judged by the schema of OCSF."""

from __future__ import annotations

import datetime as dt
import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.report.ocsf import access_event, decision_event, events_of
from testkit.checkout import ROOT
from testkit.pipeline_runs import Output, confluent_event

if TYPE_CHECKING:
    from pathlib import Path

OCSF = import_module("ocsf_json_schema")  # without types
NAMES = {6003: "api_activity", 3005: "user_access"}
OPERATIONS = "ALL READ WRITE CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS"
NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
ROW = {
    "principal": "User:alice", "host": "10.0.0.7", "operation": "READ", "resource_type": "TOPIC",
    "resource_name": "orders", "outcome": "DENIED", "api": "Fetch", "rule": "DefaultDeny",
    "rule_binding": "", "probe": False, "source": "trail", "count": 3, "first_ts": NOON,
    "last_ts": NOON + dt.timedelta(seconds=9), "cluster": "",
}  # fmt: skip
ACL = {
    "principal": "User:alice", "host": "*", "operation": "READ", "resource_type": "TOPIC",
    "resource_name": "ord", "pattern_type": "PREFIXED", "permission_type": "ALLOW",
    "binding_id": "b", "created_by": "User:admin", "removed_by": None,
}  # fmt: skip


@pytest.fixture(scope="module", params=["1.5.0", "1.8.0"])
def validators(request: pytest.FixtureRequest) -> dict[int, Draft202012Validator]:
    """Return what judges each class: the release that events name, and the newest one."""
    schemas = OCSF.OcsfJsonSchemaEmbedded(OCSF.get_ocsf_schema(request.param))
    found = {}
    for uid, name in NAMES.items():
        schema = schemas.get_class_schema(name, profiles=["security_control"])
        found[uid] = Draft202012Validator(schema)
    return found


def faults(validators: dict[int, Draft202012Validator], event: dict[str, Any]) -> list[str]:
    """Return what the schema says against an event, as a reader gets it."""
    read = json.loads(json.dumps(event))
    found = validators[event["class_uid"]].iter_errors(read)
    # The release that the event names is a constant of each schema.
    return [each.message for each in found if list(each.path) != ["metadata", "version"]]


def test_schema_validation_detects_errors(validators: dict[int, Draft202012Validator]) -> None:
    event = decision_event(ROW, "1")
    without = {name: value for name, value in event.items() if name != "actor"}

    for wrong in ({**event, "activity_id": 7}, {**event, "colour": "red"}, without):
        assert faults(validators, wrong)


@pytest.mark.parametrize("operation", OPERATIONS.split())
@pytest.mark.parametrize("outcome", ["ALLOWED", "DENIED"])
@pytest.mark.parametrize("host", ["10.0.0.7", "2001:db8:0:0:0:0:0:1", "", "client.example"])
def test_decisions_are_events_6003(
    validators: dict[int, Draft202012Validator], operation: str, outcome: str, host: str
) -> None:
    """Each kind of row is an event of class 6003."""
    row = {**ROW, "operation": operation, "outcome": outcome, "host": host, "rule": "MatchingAcl"}
    row |= {"rule_binding": "principal=User:*", "cluster": "lkc-1", "api": "", "probe": True}

    assert faults(validators, decision_event(row, "1")) == []


def test_fields_of_a_decision() -> None:
    event = decision_event(ROW, "1")

    assert (event["type_uid"], event["action_id"], event["status_id"]) == (600302, 2, 2)
    assert (event["count"], event["end_time"] - event["start_time"]) == (3, 9000)
    assert event["actor"] == {
        "user": {"uid": "User:alice", "name": "alice"},
        "authorizations": [{"decision": "DENIED", "policy": {"name": "DefaultDeny"}}],
    }
    assert event["src_endpoint"] == {"ip": "10.0.0.7"}
    assert event["api"] == {"operation": "Fetch", "service": {"name": "kafka"}}
    assert event["resources"] == [{"type": "TOPIC", "name": "orders"}]


@pytest.mark.parametrize("permission", ["ALLOW", "DENY"])
@pytest.mark.parametrize("activity", [1, 2])
def test_acl_changes_are_events_3005(
    validators: dict[int, Draft202012Validator], permission: str, activity: int
) -> None:
    """An ACL that came or went is an event of class 3005; a DENY assigns nothing."""
    event = access_event({**ACL, "permission_type": permission}, NOON, activity, "1")

    assert faults(validators, event) == []
    assert event["type_uid"] == 300500 + (activity if permission == "ALLOW" else 99)
    assert event["privileges"] == ["READ"]
    assert ("actor" in event) == (activity == 1)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of an example, which a report only reads."""
    cleanup = ROOT / "examples" / "cleanup"
    output = Output(tmp_path_factory.mktemp("example"), str(cleanup / "kafka-authorizer.log"))
    output.run(acls=(f"{cleanup / 'acls.csv'}@2026-07-01",))
    return output.out


def test_events_since_a_time(
    tmp_path: Path, tables: Path, validators: dict[int, Draft202012Validator]
) -> None:
    words = ["report", "--tables", str(tables), "--ocsf", str(tmp_path / "events.jsonl")]

    done = CliRunner().invoke(pipeline, words)

    assert done.exit_code == 0, done.output
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert {event["class_uid"] for event in events} >= {6003}
    assert not [fault for event in events for fault in faults(validators, event)]
    assert f"{len(events):,} decisions (6003), 0 changes" in done.stdout
    done = CliRunner().invoke(pipeline, [*words, "--since", "2026-10-31"])
    some = (tmp_path / "events.jsonl").read_text().splitlines()
    assert 0 < len(some) < len(events)


def test_events_of_one_cluster(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_text(confluent_event("lkc-1", "x") + confluent_event("lkc-2", "y"))
    output = Output(tmp_path / "out", str(log))
    output.run(cluster="lkc-1")

    found = list(events_of(output.out, "1", cluster="lkc-2"))

    assert [event["resources"][0]["name"] for event in found] == ["y"]
    assert found[0]["api"]["service"]["uid"] == "lkc-2"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "neither --out nor --ocsf"),
        (("--out", "r.html", "--since", "2026-11-22"), "--since requires --ocsf"),
        (("--ocsf", "no/e.jsonl"), "no folder no"),
    ],
)
def test_wrong_usage(tables: Path, options: tuple[str, ...], text: str) -> None:
    """What is missing, or does not belong together, is told."""
    done = CliRunner().invoke(pipeline, ["report", "--tables", str(tables), *options])

    assert done.exit_code != 0
    assert text in f"{done.stderr} {done.exception}"
