"""The findings of a run, in the words of its summary."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.jobs.options import last_options
from doorkeeper_pipeline.tables import delta
from testkit.pipeline_runs import Output

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
        """Return the findings of a run."""
        return list(self.run(acls=(str(self.out.parent / "acls.csv"),), **options).findings)

    def refusals(self) -> list[str]:
        """Return the findings about refusals."""
        first, *others = self.findings()
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
    commands = delta.read(tmp_path / "out", "denied").filter(command="").height
    assert commands == 40


def test_a_client_without_a_login_comes_first(tmp_path: Path) -> None:
    """It is named with its address, before what others lack, and a DENY with what it shuts."""
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


def test_principals_that_are_left_out(tmp_path: Path) -> None:
    """Their refusals and ACLs count nowhere, and the last lines say how much that is."""
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
    assert delta.read(tmp_path / "out", "denied")["count"].sum() == 4


def test_findings_that_are_accepted(tmp_path: Path) -> None:
    """They are left out with their day, those of another cause or ACL are not."""
    day, later = dt.date(2027, 1, 31), dt.date(2027, 3, 31)
    lines = [refusal("svc", "Read", "Topic:LITERAL:t")] * 3
    lines += [refusal("svc", "Describe", "Topic:LITERAL:t", api="Metadata")]
    site = Site(tmp_path, lines)
    site.run(acls=(str(tmp_path / "acls.csv"),))
    unused = delta.read(tmp_path / "out", "unused_grants").row(0, named=True)
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
