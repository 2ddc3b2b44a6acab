"""Findings in groups, ranked, and the words of a run's summary."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.jobs.causes import SOURCES
from doorkeeper_pipeline.jobs.findings import GROUPS_MAX, groups_of, lines_of
from doorkeeper_pipeline.jobs.request import last_options
from doorkeeper_pipeline.tables import delta
from testkit.pipeline_runs import Output
from testkit.report_tables import table_of

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = dt.datetime(2026, 11, 20, 10, 0, 2, tzinfo=dt.UTC)
HALF_HOUR = dt.timedelta(minutes=30)
ACLS = (
    "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
    "User:svc,TOPIC,LITERAL,other,READ,ALLOW,*\n"
    "User:*,TOPIC,LITERAL,shut,ALL,DENY,*\n"
)


def refusal(
    user: str,
    operation: str,
    resource: str,
    at: dt.datetime = BEGIN,
    host: str = "10.0.0.1",
    api: str = "",
) -> str:
    """Return a line of kafka-authorizer.log."""
    request = f" for request = {api} with resourceRefCount = 1" if api else ""
    return (
        f"[{at:%Y-%m-%d %H:%M:%S},000] INFO Principal = User:{user} is Denied Operation ="
        f" {operation} from host = {host} on resource = {resource}{request}"
        " (kafka.authorizer.logger)\n"
    )


class Site(Output):
    """A log and a set of ACLs, and the folder of their tables."""

    def __init__(self, folder: Path, lines: list[str]) -> None:
        """Write both files."""
        (folder / "a.log").write_text("".join(lines))
        (folder / "acls.csv").write_text(ACLS)
        super().__init__(folder / "out", str(folder / "a.log"))

    def findings(self, **options: Any) -> list[str]:
        """Return the lines of the summary of a run about findings."""
        return list(self.run(acls=(str(self.out.parent / "acls.csv"),), **options).lines)

    def refusals(self) -> list[str]:
        """Return those about refusals."""
        found = self.findings()
        first, *others = itertools.dropwhile(lambda line: not line.startswith("refused: "), found)
        return [first, *itertools.takewhile(lambda line: line[0] == " ", others)]


def test_each_cause_has_its_own_numbers(tmp_path: Path) -> None:
    """A tool with thousands of refusals does not hide a producer with twelve."""
    beats = [BEGIN + number * HALF_HOUR for number in range(20)]
    of_tool = [
        refusal("CN=ui", "Describe", f"Topic:LITERAL:t-{name:02}", at, host, "Metadata")
        for at in beats
        for name in range(40)
        for host in ("10.0.0.8", "10.0.0.9")
    ]
    writes = [
        refusal("svc", "Write", "Topic:LITERAL:orders", at, api="Produce") for at in beats[:12]
    ]

    found = Site(tmp_path, [*of_tool, *writes]).refusals()

    assert [line.partition(": ")[0] for line in found] == [
        "refused",
        "  probing, 1,600",
        "    User:CN=ui",
        "  missing grant, 12",
        "    User:svc",
    ]
    assert (
        found[2]
        == "    User:CN=ui: 1,600, 40 names at once, about every 30 minutes, at :00 and :30"
    )
    assert found[4] == "    User:svc: 12, WRITE on TOPIC orders"
    commands = delta.Tables(tmp_path / "out").read("denied").filter(command="").height
    assert commands == 40


def test_anonymous_clients_come_first(tmp_path: Path) -> None:
    lines = [
        *(refusal("ANONYMOUS", "Describe", "Group:KMOffsetCache", host="192.0.2.186"),) * 9,
        *(refusal("svc", "Read", "Topic:LITERAL:shut"),) * 3,
        *(refusal("svc", "Describe", f"Topic:LITERAL:t-{name}", api="Metadata") for name in "abcd"),
    ]

    found = Site(tmp_path, lines).refusals()

    assert found[:3] == [
        "refused: 16",
        *(line for line in found if line.startswith("  no login, 9: ")),
        "    User:ANONYMOUS: 9 from 192.0.2.186",
    ]
    assert [line.partition(", ")[0] for line in found[3:] if line[2] != " "] == [
        "  a DENY",
        "  DESCRIBE only",
    ]
    assert found[4].startswith("    resourceType=TOPIC, resourceName=shut")
    assert found[4].endswith(": 3; without it 0 decisions of this history would be allowed")
    assert found[6] == (
        "    User:svc: 4, DESCRIBE on TOPIC t-a, DESCRIBE on TOPIC t-b, DESCRIBE on TOPIC t-c,"
        " and 1 more"
    )


def test_excluded_principals_are_not_counted(tmp_path: Path) -> None:
    lines = [refusal("svc", "Read", "Topic:LITERAL:t")] * 3
    lines += [refusal("other", "Read", "Topic:LITERAL:t")]

    found = Site(tmp_path, lines).findings(excluded=("User:svc", "User:nobody"))

    assert found[0] == "refused: 1"
    assert not any(line.startswith("unused") for line in found)
    assert found[-2:] == [
        "left out, as asked, of User:nobody: nothing, for it has no finding",
        "left out, as asked, of User:svc: 3 refusals, 1 ACL",
    ]
    assert last_options(tmp_path / "out").excluded == ("User:nobody", "User:svc")
    assert delta.Tables(tmp_path / "out").read("denied")["count"].sum() == 4


def test_accepted_findings_are_omitted(tmp_path: Path) -> None:
    day, later = dt.date(2027, 1, 31), dt.date(2027, 3, 31)
    lines = [refusal("svc", "Read", "Topic:LITERAL:t")] * 3
    lines += [refusal("svc", "Describe", "Topic:LITERAL:t", api="Metadata")]
    site = Site(tmp_path, lines)
    site.run(acls=(str(tmp_path / "acls.csv"),))
    unused = delta.Tables(tmp_path / "out").read("unused_grants").row(0, named=True)
    accepted = {
        "refused:MISSING_GRANT:User:svc": day,
        f"unused:{unused['binding_id']}": later,
        "refused:MISSING_GRANT:User:other": day,
    }

    found = site.findings(accepted=accepted)

    assert [line.partition(":")[0] for line in found] == [
        *("refused", "  DESCRIBE only, 1", "    User"),
        *("accepted until 2027-01-31", "accepted until 2027-03-31"),
    ]
    assert found[-2:] == [
        "accepted until 2027-01-31: 3 refusals",
        "accepted until 2027-03-31: 1 ACL",
    ]


BEFORE = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
NOW = BEFORE + dt.timedelta(days=1)


def finding(cause: str, principal: str = "User:a", **changed: Any) -> dict[str, Any]:
    """Return a row of the table findings."""
    action = "SAFE" if cause in ("unused", "dormant") else "DECIDE"
    row = {"cause": cause, "action": action, "principal": principal, "severity": "LOW"}
    return row | {"subject": "READ on TOPIC t", "grants": 14, "first_seen": BEFORE, **changed}


def groups(*rows: dict[str, Any]) -> Any:
    """Return the groups of some rows."""
    return groups_of(table_of("findings", rows).collect(), NOW)


def lines(*rows: dict[str, Any], **tables: list[dict[str, Any]]) -> list[str]:
    """Return the lines of some rows, and of rows of other tables."""
    sources = {name: table_of(name, tables.get(name, [])).collect() for name in SOURCES}
    return list(lines_of(groups(*rows), sources, BEFORE))


def test_findings_are_grouped_by_principal_and_cause() -> None:
    (group,) = groups(
        finding("unused", subject="a"),
        finding("unused", subject="b", severity="HIGH", first_seen=NOW),
        finding("unused", subject="c", gone=NOW),
    )

    assert (group.severity, group.size, group.new, group.first_seen) == ("HIGH", 2, 1, BEFORE)
    assert (group.title, group.subjects) == ("User:a: 2 of 14 grants unused", ("b", "a"))


def test_grants_of_unknown_age_are_one_group() -> None:
    (group,) = groups(finding("unknown-age"), finding("unknown-age", "User:b"))

    assert group.title == "2 principals: 2 grants unused, of unknown age"


def test_groups_are_sorted_by_severity_and_size() -> None:
    found = groups(
        finding("unused", "User:b"),
        finding("unused", "User:a"),
        finding("unused", "User:z", subject="x"),
        finding("unused", "User:z", subject="y"),
        finding("unused", "User:y", severity="MEDIUM"),
        finding("dormant", "User:c", severity="CRITICAL"),
    )

    assert [each.principal[-1] for each in found] == ["c", "y", "z", "a", "b"]


def test_summary_lines() -> None:
    asked = finding("renamed", "User:old", grants=1, why="are both the same?", severity="MEDIUM")

    assert lines(finding("unused"), asked, finding("missing-grant")) == [
        "to decide: 1 finding, 0 new since the run of 2026-11-01 00:00",
        ("  MEDIUM    User:old: 1 of 1 grant unused, perhaps under another name: READ on TOPIC t"),
        "            are both the same?",
        (
            "safe to apply now, with doorkeeper-pipeline propose: 1 finding, 0 new since the run"
            " of 2026-11-01 00:00"
        ),
        "  LOW       User:a: 1 of 14 grants unused: READ on TOPIC t",
    ]


def test_remaining_groups_are_counted() -> None:
    rows = [finding("unused", f"User:{number:02}") for number in range(GROUPS_MAX + 2)]
    rows += [finding("unused", "User:99", subject=f"s{number}") for number in range(5)]

    found = lines(*rows)

    assert found[1].endswith("User:99: 5 of 14 grants unused: s0; s1; s2; and 2 more")
    assert found[-1] == "  and 3 findings in 3 groups"
    assert len(found) == 1 + GROUPS_MAX + 1


def test_missing_evidence_is_listed_by_rule() -> None:
    row = {"principal": "User:a", "operation": "READ", "resource_type": "TOPIC", "host": "*"}
    row |= {"resource_name": "t", "verdict": "NOT_ENOUGH_EVIDENCE"}
    held = [{**row, "rule": "age", "why": "given lately"}] * 2 + [{**row, "rule": "period"}]

    assert lines(grant_usage=held) == [
        "not enough evidence: 3 grants",
        "  2, such as User:a: READ on TOPIC t: given lately",
        "  User:a: READ on TOPIC t: ",
    ]
