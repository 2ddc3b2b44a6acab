"""The findings of a run, in the words of its summary."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING

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


def findings(folder: Path, lines: list[str]) -> list[str]:
    """Return the findings about refusals of a run over lines."""
    (folder / "a.log").write_text("".join(lines))
    (folder / "acls.csv").write_text(ACLS)
    site = Output(folder / "out", str(folder / "a.log"))
    first, *others = site.run(acls=(str(folder / "acls.csv"),)).findings
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

    found = findings(tmp_path, [*of_tool, *writes])

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

    found = findings(tmp_path, lines)

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
