"""The whole run on small logs, without a JVM."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.engines.spark import SparkEngine
from doorkeeper_pipeline.errors import Conflicting, PipelineError, TooManyUnread, Unreadable
from doorkeeper_pipeline.evaluation.evidence import NO_THRESHOLDS
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import delta
from doorkeeper_pipeline.tables.delta import Tables
from testkit import trail_files
from testkit.load import scaled
from testkit.pipeline_runs import NOON, Output, confluent_event, record, restored


class Site(Output):
    """Logs and an output folder."""

    def __init__(self, folder: Path) -> None:
        """Make the folders."""
        self.logs = folder / "logs"
        self.logs.mkdir()
        super().__init__(folder / "out", str(self.logs))

    def log(self, name: str, *lines: str) -> Path:
        """Write a log."""
        (self.logs / name).write_text("".join(lines))
        return self.logs / name


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return an empty site."""
    return Site(tmp_path)


def tables(root: Path) -> dict[str, object]:
    """Return all tables but the manifest: silver and gold as bytes, bronze as sorted rows."""
    now = Tables(root)
    found: dict[str, object] = {}
    for name, table in TABLES.items():
        if table.layer == "bronze":
            found[name] = sorted(now.read(name).rows(), key=str)
        elif table.layer in {"silver", "gold"}:
            found[name] = [Path(file).read_bytes() for file in now.files(name)]
    return found


def test_run_writes_all_layers(site: Site) -> None:
    site.log("a.log", record("x"), record("x"), "garbage\n", record("y", "2026-11-21 23:59:59,999"))

    summary = site.run()

    assert site.counts() == {"x": 2, "y": 1}
    assert (summary.run["lines"], summary.run["decisions"], summary.run["quarantined"]) == (4, 3, 1)
    assert delta.Tables(site.out).read("quarantine")["text"].to_list() == ["garbage"]
    assert [Path(name).parent.name for name in delta.Tables(site.out).files("decisions")] == [
        "day=2026-11-21",
        "day=2026-11-22",
    ]
    assert delta.Tables(site.out).read("new_access")["resource_name"].to_list() == ["x"]
    assert delta.Tables(site.out).read("runs")["run_id"].to_list() == ["run-1"]


def test_repeated_run_changes_nothing(site: Site) -> None:
    site.log("a.log", *(record(f"n{number}") for number in range(20)))
    site.run()
    before = tables(site.out)

    summary = site.run()

    assert (summary.run["files_read"], summary.run["files_unchanged"]) == (0, 1)
    assert tables(site.out) == before
    assert len(delta.Tables(site.out).read("runs")) == 2


GOLD = tuple(name for name, table in TABLES.items() if table.layer == "gold")


def versions(out: Path) -> dict[str, int | None]:
    """Return the version of each gold table; None where it was never written."""
    now = Tables(out)
    found = {name: now.newest(name) for name in GOLD}
    return {name: None if table is None else table.version() for name, table in found.items()}


def allowed(user: str, name: str, rule: str) -> str:
    """Return a line of an allowed request, and the rule that allowed it."""
    denied = record(name, user=user)
    return denied.replace("is Denied", "is Allowed").replace("DefaultDeny", rule)


def test_corrected_option_applies_to_stored_decisions(site: Site, tmp_path: Path) -> None:
    listing = tmp_path / "acls.yaml"
    listing.write_text("version: 1\nacls:\n" + ACL.format(name="x"))
    site.log("a.log", allowed("root", "x", "SuperUser"), allowed("bob", "free", "DefaultAllow"))
    first = site.run(acls=(str(listing),)).evidence
    policy = Policy(super_users=frozenset({"User:root"}), allow_everyone=True)

    again = site.run(acls=(str(listing),), policy=policy)

    assert (first.agreement, first.contradicts) == (0, True)
    assert again.run["files_read"] == 0
    assert (again.evidence.agreement, again.evidence.causes) == (100, ())
    assert delta.Tables(site.out).read("agreement")["agreeing"].to_list() == [1, 1]
    assert site.run(acls=(str(listing),)).evidence.agreement == 0


def test_run_without_changes_computes_no_gold_table(site: Site, tmp_path: Path) -> None:
    listing = tmp_path / "acls.yaml"
    listing.write_text("version: 1\nacls:\n" + ACL.format(name="x") + ACL.format(name="a"))
    site.log("a.log", *(record(f"n{number}") for number in range(20)))
    acls = (str(listing),)
    first = site.run(acls=acls)
    before = versions(site.out)

    again = site.run(acls=acls, engine=Idle())

    assert versions(site.out) == before
    assert again.evidence == first.evidence
    assert again.rows | {"decisions files": 0} == first.rows | {"decisions files": 0}


def test_incremental_run_reads_no_older_decisions(site: Site) -> None:
    site.log("a.log", record("x", "2026-11-21 07:10:00,000"), record("y"))
    site.run()
    [old, _] = delta.Tables(site.out).files("decisions")
    Path(old).write_bytes(b"unreadable")
    site.log("b.log", record("y", "2026-11-22 09:00:00,000"))

    site.run()

    denied = delta.Tables(site.out).read("denied").select("resource_name", "count")
    assert dict(denied.iter_rows()) == {"x": 1, "y": 2}
    assert delta.Tables(site.out).read("days")["count"].to_list() == [1, 2]
    assert delta.Tables(site.out).read("new_access")["resource_name"].to_list() == ["y"]


def test_changed_acls_read_no_decisions(site: Site, tmp_path: Path) -> None:
    site.log("a.log", record("x"), record("y"))
    site.run()
    for file in delta.Tables(site.out).files("decisions"):
        Path(file).write_bytes(b"unreadable")
    listing = tmp_path / "acls.yaml"
    acl = ACL.format(name="x").replace("U:a", "User:alice")
    listing.write_text(f"version: 1\nacls:\n{acl}")

    site.run(acls=(str(listing),))

    reasons = delta.Tables(site.out).read("denied").select("resource_name", "reason")
    assert dict(reasons.iter_rows()) == {"x": "ALLOWED_NOW", "y": "NO_ACL"}


GRANTS = {"grant_usage", "unused_grants", "overbroad_grants"}
DECIDED = {*GRANTS, "agreement", "denied", "least_privilege"}


@pytest.fixture(scope="module")
def of_two_lines(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Make tables of a log of two lines, and of a listing beside it."""
    site = Site(tmp_path_factory.mktemp("two"))
    listing = site.logs.with_name("acls.yaml")
    listing.write_text("version: 1\nacls:\n" + ACL.format(name="x"))
    site.log("a.log", record("x"), record("y"))
    site.run(acls=(str(listing),))
    return site


@pytest.mark.parametrize(
    ("option", "tables_of_it"),
    [
        ({"policy": Policy(super_users=frozenset({"User:root"}))}, DECIDED),
        ({"thresholds": NO_THRESHOLDS}, GRANTS),
        ({"sensitive": ("x",)}, {*GRANTS, "findings"}),
        ({"since": NOON - dt.timedelta(days=3)}, {"drift", "new_access"}),
        ({"version": "2"}, {*DECIDED, "days", "clients", "drift", "new_access"}),
    ],
)
def test_changed_option_rebuilds_its_tables(
    of_two_lines: Site, tmp_path: Path, option: dict[str, Any], tables_of_it: set[str]
) -> None:
    site, folder = of_two_lines, of_two_lines.out.parent
    with restored(folder, tmp_path / "kept"):
        before = versions(site.out)

        site.run(acls=(str(folder / "acls.yaml"),), **option)

        changed = {name for name, version in versions(site.out).items() if version != before[name]}
        assert changed == tables_of_it


def test_spark_is_not_started_without_work(site: Site) -> None:
    site.log("a.log", record("x"))
    site.run()
    before = versions(site.out)
    told: list[str] = []

    site.run(engine=SparkEngine(tell=told.append))

    assert told == []
    assert versions(site.out) == before


class Idle(Engine):
    """An engine that is asked for nothing."""

    def map(self, function: Any, tasks: Any, shared: Any) -> Any:
        """Check that there is no task."""
        assert not list(tasks)
        return super().map(function, [], shared)


def test_incremental_runs_equal_one_run(site: Site, tmp_path: Path) -> None:
    first = [record(f"n{number % 5}", f"2026-11-22 0{number % 3}:00:00,000") for number in range(9)]
    log = site.log("a.log", *first)
    site.run()
    site.log("a.log", *first, record("grown"), "torn")
    site.run()
    log.rename(site.logs / "a.log.1")
    site.log("a.log", record("fresh", "2026-11-23 00:00:00,000"))
    site.run()
    packed = site.logs / "a.log.1.gz"
    packed.write_bytes(gzip.compress((site.logs / "a.log.1").read_bytes()))
    (site.logs / "a.log.1").unlink()
    site.log("b.log", record("n1"))
    site.run()

    site.run(out=tmp_path / "whole")

    assert site.counts() == {"n0": 2, "n1": 3, "n2": 2, "n3": 2, "n4": 1, "grown": 1, "fresh": 1}
    assert tables(site.out) == tables(tmp_path / "whole")
    site.run(rebuild=True)
    assert tables(site.out) == tables(tmp_path / "whole")


def test_shorter_file_keeps_its_decisions(site: Site) -> None:
    """It may be a copy that is not complete; a rebuild takes it as it is."""
    site.log("a.log", record("x") * 30, record("y", "2026-11-22 09:00:00,000"))
    site.run()
    site.log("a.log", record("x") * 30)

    for summary in (site.run(), site.run()):
        assert site.counts() == {"x": 30, "y": 1}
        assert any("shorter than when they were read" in each for each in summary.run["warnings"])
    site.run(rebuild=True)

    assert site.counts() == {"x": 30}
    assert len(delta.Tables(site.out).files("decisions")) == 1


def test_run_without_findings_has_their_table(site: Site) -> None:
    """Without it a report takes the tables for those of an earlier release."""
    site.log("a.log", allowed("a", "x", "DefaultAllow"))

    assert site.run().rows["findings"] == 0
    assert len(delta.Tables(site.out).files("findings")) == 1


def test_deleted_file_keeps_its_decisions(site: Site) -> None:
    site.log("a.log", record("x"))
    site.run()
    (site.logs / "a.log").unlink()
    site.log("b.log", record("y"))

    summary = site.run(rebuild=True)

    assert site.counts() == {"x": 1, "y": 1}
    assert [Path(path).name for path in summary.gone] == ["a.log"]


def test_all_failures_are_reported_at_once(site: Site) -> None:
    site.log("a", "hello")
    site.log("b", "hello")

    with pytest.raises(PipelineError, match=r"(?s)/a: .*/b: "):
        site.run()


def test_follow_notices_acls_of_an_audit_log(tmp_path: Path) -> None:
    """Such a folder has no digest: its ACLs are compared."""
    site, audit = Site(tmp_path), tmp_path / "audit"
    site.log("a.log", record("t"))
    audit.mkdir()

    def change(seq: int) -> None:
        acl = {
            "resource_type": "TOPIC", "pattern_type": "LITERAL", "resource_name": f"t{seq}",
            "principal": "User:a", "host": "*", "operation": "READ", "permission": "ALLOW",
        }  # fmt: skip
        event = {"kind": "change", "subject": "acls", "node": 1, "seq": seq, "ts_ns": seq * 10**9}
        (audit / f"{seq}.jsonl").write_text(json.dumps({**event, "added": [acl]}) + "\n")

    change(1)
    site.run(acls=(str(audit),), cluster="payments")
    assert site.run_if_new(acls=(str(audit),), cluster="payments") is None

    change(2)

    assert site.run_if_new(acls=(str(audit),), cluster="payments") is not None
    assert len(Tables(site.out).read("bindings")) == 2


KILLED = """
import datetime as dt, os, signal, sys
from pathlib import Path
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings
from doorkeeper_pipeline.jobs.run import run

logs, out, step = sys.argv[1:]

def checkpoint(reached):
    if reached == step:
        os.kill(os.getpid(), signal.SIGKILL)

now = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)
around = Surroundings(
    engine=Engine(), now=lambda: now, run_id="killed", version="1", tell=lambda _: None,
    checkpoint=checkpoint,
)
run(RunRequest(out=Path(out), inputs=(logs,)), around)
"""


def test_killed_run_is_recovered(site: Site) -> None:
    """After kill -9 between two commits the old tables are read, and the next run makes the new."""
    site.log("a.log", record("x"))
    site.run()
    site.log("b.log", record("y"))
    before = tables(site.out)

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(site.logs), str(site.out), "committed files"],
        check=False,
        timeout=scaled(60),
    )

    assert killed.returncode == -signal.SIGKILL
    assert tables(site.out) == before
    site.run()
    assert site.counts() == {"x": 1, "y": 1}


ACL = "- {{resourceType: TOPIC, name: {name}, principal: 'U:a', operation: READ}}\n"


def test_invalid_acls_fail_before_reading_logs(site: Site) -> None:
    site.log("a.log", record("x"))
    told: list[str] = []

    with pytest.raises(Unreadable, match=r"missing\.txt: No such file"):
        site.run(acls=("missing.txt",), tell=told.append)

    assert told == []


def test_unchanged_listing_is_not_read_again(site: Site, tmp_path: Path) -> None:
    """A set of 100,000 ACLs takes seconds to read; the content tells, not the time of the file."""
    site.log("a.log", record("x"))
    acls = tmp_path / "acls.yaml"
    acls.write_text("version: 1\nacls:\n" + ACL.format(name="x"))
    told: list[str] = []
    site.run(acls=(str(acls),))
    site.run()
    acls.write_text(acls.read_text())

    site.run(acls=(str(acls),), tell=told.append)

    assert "reading the ACLs" not in told
    acls.write_text("version: 1\nacls:\n" + ACL.format(name="y"))
    site.run(acls=(str(acls),))
    current = delta.Tables(site.out).read("bindings").filter(pl.col("valid_to").is_null())
    assert current["resource_name"].to_list() == ["y"]
    site.run(acls=(f"{acls}@2026-11-01",), tell=told.append)
    assert "reading the ACLs" in told


def test_acls_and_drift(site: Site, tmp_path: Path) -> None:
    """ACLs become bindings, and stay those of the last run when none are given; what another set
    adds and leaves out is drift, and only what is in force decides."""
    acls = tmp_path / "acls.yaml"
    acls.write_text("version: 1\nacls:\n" + ACL.format(name="x") + ACL.format(name="y"))
    site.log("a.log", record("x"))

    assert site.run(acls=(str(acls),)).rows["bindings"] == 2
    assert site.run().rows["bindings"] == 2
    assert delta.Tables(site.out).read("drift").is_empty()
    acls.write_text("version: 1\nacls:\n" + ACL.format(name="y") + ACL.format(name="z"))
    site.run(acls=(str(acls),), thresholds=NO_THRESHOLDS)
    assert delta.Tables(site.out).read("drift").select("change", "resource_name", "at").rows() == [
        ("ADDED", "z", NOON),
        ("REMOVED", "x", NOON),
    ]
    assert delta.Tables(site.out).read("grant_usage")["resource_name"].to_list() == ["y", "z"]
    before = tables(site.out)
    site.run(acls=(str(acls),), thresholds=NO_THRESHOLDS)
    assert tables(site.out) == before
    acls.write_text("version: 1\nacls: []\n")
    for _ in range(2):
        summary = site.run(acls=(str(acls),))
        assert summary.run["warnings"][0].startswith("the given set of ACLs is empty")
        assert summary.evidence.contradicts


@pytest.mark.parametrize(
    ("good", "torn", "allowed", "fails"),
    [
        (1, 2, 5, True),
        (4, 1, 5, False),
    ],
)
def test_too_many_unreadable_lines_fail(
    site: Site, good: int, torn: int, allowed: float, *, fails: bool
) -> None:
    bad = record("x").replace("is Denied operation", "did")
    site.log("a.log", *[record(f"t{each}") for each in range(good)], *[bad] * torn)

    if not fails:
        assert site.run(max_quarantined=allowed).run["quarantined"] == torn
        return
    with pytest.raises(TooManyUnread, match=rf"{torn} of {good + torn} lines .* allowed: 5%"):
        site.run(max_quarantined=allowed)
    assert delta.Tables(site.out).read("denied").is_empty()
    assert not list(site.out.rglob("*.parquet"))


def test_truncated_log_is_quarantined(site: Site) -> None:
    chance = random.Random(1)
    names = (chance.randbytes(60).hex() for _ in range(2000))
    packed = gzip.compress("".join(map(record, names)).encode())
    (site.logs / "a.log.gz").write_bytes(packed[: len(packed) * 9 // 10])

    row = site.run().run

    assert row["decisions"] > 1000
    assert row["lines"] == row["decisions"] + row["quarantined"]
    assert any(each.startswith("1 truncated compressed file: ") for each in row["warnings"])
    reasons = delta.Tables(site.out).read("quarantine")["reason"].to_list()
    assert sum("damaged gz" in each for each in reasons) == 1


def test_copy_counts_once(site: Site) -> None:
    lines = [record(f"n{each % 7}", f"2026-11-22 07:{each:02}:00,{each:03}") for each in range(60)]
    log = site.log("a.log", *lines).read_bytes()
    site.run()
    before = site.counts()
    (site.logs / "a.log.1.gz").write_bytes(gzip.compress(log))

    row = site.run().run

    assert site.counts() == before
    assert (row["files_read"], row["decisions"], row["copied"]) == (1, 60, 60)


def test_garbage_is_counted_by_lines(site: Site) -> None:
    """Lines without a beginning are one piece in quarantine, and still most of the log."""
    site.log("a.log", *[record("x")] * 100, *["garbage\n"] * 900)

    with pytest.raises(TooManyUnread, match=r"900 of 1,000 lines could not be parsed"):
        site.run(slice_bytes=1 << 20)


def test_run_without_input_is_rejected(site: Site, tmp_path: Path) -> None:
    with pytest.raises(Conflicting, match=r"--log is missing, and .* has no decisions"):
        site.run(inputs=())

    assert not list(site.out.rglob("*.parquet"))
    site.log("a.log", record("x"))
    site.run()
    listing = tmp_path / "acls.yaml"
    listing.write_text("version: 1\nacls:\n" + ACL.format(name="x"))
    assert site.run(inputs=(), acls=(str(listing),)).rows["bindings"] == 1


def audit_event(name: str, time: dt.datetime) -> str:
    """Return a decision of Doorkeeper's audit log: the same one as ``record`` has."""
    ns = int(time.timestamp()) * 1_000_000_000
    times = dict.fromkeys(("ts_ns", "first_ns", "last_ns"), ns)
    event = trail_files.event(1) | times | {"principal": "User:alice", "resource_name": name}
    return json.dumps(event) + "\n"


def test_same_decisions_in_two_kinds_of_logs_are_rejected(site: Site) -> None:
    site.log("kafka-authorizer.log", record("x"))
    site.log("audit.jsonl", audit_event("x", dt.datetime(2026, 11, 22, 7, 10, tzinfo=dt.UTC)))

    with pytest.raises(Conflicting, match=r"audit\.jsonl .* and .*kafka-authorizer\.log"):
        site.run()

    assert not delta.Tables(site.out).files("decisions")
    site.run(different_servers=True)
    assert site.counts() == {"x": 2}


def test_audit_log_after_authorizer_log(site: Site) -> None:
    log = site.log("kafka-authorizer.log", record("x"))
    site.run()
    log.unlink()
    site.log("audit.jsonl", audit_event("x", dt.datetime(2026, 11, 22, 7, 10, tzinfo=dt.UTC)))

    with pytest.raises(Conflicting, match="would count twice"):
        site.run()

    assert site.counts() == {"x": 1}


def refused_by(table: pl.DataFrame) -> list[tuple[str, str]]:
    """Return cluster and name of the rows of a table."""
    return sorted(table.select("cluster", "resource_name").rows())


def test_events_of_two_clusters_are_separate(site: Site) -> None:
    events = site.log("audit.jsonl", confluent_event("lkc-1", "x"), confluent_event("lkc-2", "y"))
    of_each = {}
    for cluster, name in (("lkc-1", "x"), ("lkc-2", "y")):
        of_each[cluster] = events.with_name(f"{cluster}.yaml")
        of_each[cluster].write_text("version: 1\nacls:\n" + ACL.format(name=name))

    with pytest.raises(Conflicting, match=r"2 clusters: lkc-1 .*, lkc-2 .* with --cluster-name"):
        site.run(inputs=(str(events),))
    with pytest.raises(
        Conflicting, match=r"--cluster-name: found 'lkc-3', but the events belong to cluster lkc-1"
    ):
        site.run(inputs=(str(events),), cluster="lkc-3")

    for cluster, acls in of_each.items():
        row = site.run(inputs=(str(events),), cluster=cluster, acls=(str(acls),)).run
        assert row["cluster"] == cluster
    assert refused_by(delta.Tables(site.out).read("decisions")) == [("lkc-1", "x"), ("lkc-2", "y")]
    for table in ("denied", "bindings", "grant_usage"):
        assert refused_by(delta.Tables(site.out).read(table)) == [("lkc-1", "x"), ("lkc-2", "y")]
    assert delta.Tables(site.out).read("days").select("cluster", "count").rows() == [
        ("lkc-1", 1),
        ("lkc-2", 1),
    ]
    assert delta.Tables(site.out).read("files")["clusters"].to_list() == [["lkc-1", "lkc-2"]]
    # Nothing is new for the one, whatever was made for the other.
    told: list[str] = []
    site.run(inputs=(str(events),), cluster="lkc-1", tell=told.append)
    assert "summary tables unchanged: denied" in told


def gold_of(out: Path, cluster: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all gold tables that are about a cluster."""
    return {
        name: delta.Tables(out).read(name).filter(pl.col("cluster") == cluster).rows()
        for name, table in TABLES.items()
        if table.layer == "gold"
    }


def test_shared_folder_equals_separate_folders(site: Site, tmp_path: Path) -> None:
    clusters = ("lkc-1", "lkc-2")
    apart = {}
    for cluster in clusters:
        (tmp_path / cluster).mkdir()
        apart[cluster] = Site(tmp_path / cluster)
        (tmp_path / f"{cluster}.yaml").write_text("version: 1\nacls:\n" + ACL.format(name="t17"))

    def log(day: int, *news: str) -> None:
        events = {
            cluster: [
                confluent_event(cluster, f"t{day}", f"2026-11-{day}T07:10:0{number}Z"),
                confluent_event(cluster, f"{cluster}-{number}", f"2026-11-{day}T0{number}:00:00Z"),
            ]
            for number, cluster in enumerate(news)
        }
        name = f"{day}-{len(news)}.jsonl"
        site.log(name, *(line for lines in events.values() for line in lines))
        for cluster, lines in events.items():
            apart[cluster].log(name, *lines)

    def run_all(*asked: str) -> None:
        for cluster in asked:
            acls = (str(tmp_path / f"{cluster}.yaml"),)
            site.run(cluster=cluster, acls=acls)
            apart[cluster].run(cluster=cluster, acls=acls)
        for cluster in clusters:
            assert gold_of(site.out, cluster) == gold_of(apart[cluster].out, cluster)

    for day in (17, 18, 21):
        log(day, *clusters)
    run_all(*clusters)
    log(22, "lkc-1")
    run_all("lkc-2")
    log(17, "lkc-2")  # an old hour changes
    run_all("lkc-2")


def test_unnamed_log_with_events_of_two_clusters_is_rejected(site: Site) -> None:
    site.log("audit.jsonl", confluent_event("lkc-1", "x"), confluent_event("lkc-2", "y"))
    site.log("kafka.log", record("z", "2026-11-21 07:00:00,000"))

    with pytest.raises(Conflicting, match=r"kafka\.log does not name its cluster; use separate"):
        site.run(cluster="lkc-1")
