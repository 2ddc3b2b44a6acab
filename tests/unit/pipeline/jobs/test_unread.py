"""Lines that were not read for certain may be uses: what they may be about is not removed."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS, NO_THRESHOLDS
from doorkeeper_pipeline.evaluation.unread import UnreadLines, describe_unread, unread_in_files
from doorkeeper_pipeline.tables import delta
from testkit.pipeline_runs import Output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HEAD = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
ACLS = (
    HEAD
    + "User:app,TOPIC,LITERAL,events,READ,ALLOW,*\n"
    + "User:svc,TOPIC,LITERAL,orders,READ,ALLOW,*\n"
    + "User:*,TOPIC,LITERAL,idle,READ,ALLOW,*\n"
    + "User:idle,TOPIC,LITERAL,idle,READ,ALLOW,*\n"
)
DAYS, USUAL = 4, 12
SVC = (
    "[2026-11-{day:02} 20:00:00,000] DEBUG Principal = User:svc is Allowed Operation = Read from"
    " host = 10.1.2.3 on resource = Topic:LITERAL:orders for request = Fetch with"
    " resourceRefCount = 1 (kafka.authorizer.logger)\n"
)
APP = SVC.replace("20:00:00", "00:{minute:02}:00").replace("svc", "app").replace("orders", "events")
OAUTH = "OAuthKafkaPrincipal(User:svc, session:{day}, token:eyJh**8V6A)"


class Month(Output):
    """A log with many lines of app each day, and one line of another form at the end of it."""

    def __init__(self, folder: Path, line: str, acls: str = ACLS) -> None:
        """Write the log and the listing."""
        text = "".join(
            "".join(APP.format(day=day, minute=minute) for minute in range(USUAL))
            + line.format(day=day)
            for day in range(1, DAYS + 1)
        )
        (folder / "a.log").write_text(text)
        self.listing = folder / "acls.csv"
        self.listing.write_text(acls)
        super().__init__(folder / "out", str(folder / "a.log"))

    def proposals(self) -> dict[str, str]:
        """Return what a run proposes for the unused grants of each principal."""
        self.summary = self.run(
            acls=(str(self.listing),), thresholds=NO_THRESHOLDS, max_quarantined=50
        )
        rows = delta.Tables(self.out).read("unused_grants")
        return dict(rows.select("principal", "proposal").rows())


def test_unused_grant_without_unread_lines_is_removed(tmp_path: Path) -> None:
    found = Month(tmp_path, "").proposals()

    assert found["User:svc"] == found["User:*"] == "REMOVE"


def of_each(forms: Sequence[str]) -> tuple[str, list[str], str]:
    """Return lines of forms, each of a service of its own, their principals, and the ACLs."""
    services = [f"svc{number:02}" for number in range(len(forms))]
    lines = "".join(
        form.replace("svc", service) for form, service in zip(forms, services, strict=True)
    )
    grant = "User:svc,TOPIC,LITERAL,orders,READ,ALLOW,*\n"
    grants = "".join(grant.replace("svc", service) for service in services)
    return lines, [f"User:{service}" for service in services], ACLS.replace(grant, grants)


def test_principals_printed_as_objects(tmp_path: Path) -> None:
    forms = (
        OAUTH,
        "OAuthKafkaPrincipal(User:svc, groups: [a, b], session:{day}, token:x)",
        "OAuthKafkaPrincipal(User:svc, groups: null, session: {day}, token: x)",
    )
    lines, principals, acls = of_each([SVC.replace("User:svc", form) for form in forms])
    month = Month(tmp_path, lines, acls)

    found = month.proposals()

    assert found.keys() == {"User:*", "User:idle"}
    assert month.summary.evidence.agreement == 100
    assert found["User:*"] == "REMOVE"
    decided = delta.Tables(month.out).read("decisions")["principal"]
    assert set(decided) == {"User:app", *principals}
    normalised = [each for each in month.summary.run["warnings"] if "as an object" in each]
    assert [each.rpartition(": ")[2] for each in normalised] == [str(DAYS * len(forms))]


def test_objects_in_json_messages(tmp_path: Path) -> None:
    """A layout of JSON is no different."""
    text = SVC.replace("User:svc", OAUTH).format(day=7)
    message = text[text.index("Principal") : text.rindex(" (")]
    line = {"level": "DEBUG", "loggerName": "kafka.authorizer.logger", "message": message}
    (tmp_path / "a.json").write_text(json.dumps({"timeMillis": 1793959200123, **line}) + "\n")
    output = Output(tmp_path / "out", str(tmp_path / "a.json"))

    output.run()

    assert delta.Tables(output.out).read("decisions")["principal"].to_list() == ["User:svc"]


UNREAD = (
    SVC.replace("= Read", "= READX"),
    SVC.replace("host = 10.1.2.3", "host = "),
    SVC.replace("is Allowed", "is Permitted"),
    SVC.replace("User:svc", OAUTH).replace("= Read", "= READX"),
    SVC.replace("User:svc", "CustomPrincipal{{token=x}} User:svc"),
    SVC.replace("User:svc", "OAuthKafkaPrincipal(User:svc, session:1, session:2, token:x)"),
    SVC.replace("User:svc", "user:svc"),
    SVC.replace("User:svc", "User:svc\u200b"),
    SVC.replace("User:svc", "User:svc,Roles:a"),
    SVC.replace(" is Allowed", " is a name is Permitted"),
    SVC.partition("Principal")[0]
    + "[ALLOW] Auth request Read on Topic:orders by User svc (io.aiven.kafka.auth.Acl)\n",
    SVC.replace("User:svc", 600 * "n" + " Principal = User:svc").replace("= Read", "= READX"),
    600 * "n" + SVC.partition("DEBUG")[2].replace("= Read", "= READX"),
    " User:svc is Allowed Operation = Read from host = 10.1.2.3 on resource = Topic:LIT\n",
)
"""Lines that may be a use of svc, each in a form of its own."""


def test_unread_lines_prevent_removal(tmp_path: Path) -> None:
    """Each form alone holds back the grants of its principal, and of no other."""
    lines, principals, acls = of_each(UNREAD)
    month = Month(tmp_path, lines, acls)

    month.proposals()

    rows = delta.Tables(month.out).read("unused_grants")
    rules = dict(rows.select("principal", "rule").rows())
    assert rules.pop("User:idle") != "unread"
    assert rules.pop("User:*") != "unread"
    assert rules == dict.fromkeys(principals, "unread")
    assert set(rows["proposal"]) == {"NOT_ENOUGH_EVIDENCE"}


def test_unread_line_of_one_principal(tmp_path: Path) -> None:
    """Grants to everybody are held back too, and those of others are not."""
    month = Month(tmp_path, UNREAD[0])

    found = month.proposals()

    assert found["User:svc"] == found["User:*"] == "NOT_ENOUGH_EVIDENCE"
    assert found["User:idle"] == "REMOVE"
    assert any("User:svc" in each for each in month.summary.run["warnings"])


def proposed(month: Month, *options: str) -> str:
    """Return what propose prints after a run."""
    usual = ["--tables", str(month.out), "--method", "unused", "--engine", "local", "--quiet"]
    result = CliRunner().invoke(pipeline, ["propose", *usual, *options])
    assert result.exit_code == 0, result.output
    return result.output


def test_unread_lines_without_principal_are_counted(tmp_path: Path) -> None:
    month = Month(tmp_path, "[2026-11-{day:02} 20:00:00,000] DEBUG Principal = User:s\n")

    month.proposals()

    told = f"{DAYS} quarantined lines name no principal"
    assert any(told in each for each in month.summary.run["warnings"])
    assert told in proposed(month)


def test_proposals_exclude_principals_of_unread_lines(tmp_path: Path) -> None:
    month = Month(tmp_path, SVC.replace("= Read", "= READX"))
    month.proposals()

    careful = proposed(month)

    assert "nothing is proposed for User:svc and User:*, because ambiguous" in careful
    assert "principal=User:svc" not in careful
    accepted = proposed(month, "--accept-lost-access")
    assert "principal=User:svc" in accepted
    assert "RISK: principals may lose access: not counted: requests in ambiguous" in accepted


def test_unread_lines_by_file() -> None:
    names = ("damaged", "last_ts", "lost_days", "numbers", "topic_id")
    nothing = dict.fromkeys(names)
    files: list[dict[str, object]] = [
        {
            "clusters": [],
            "quarantined": 3,
            "nameless": 1,
            "unread_principals": ["User:a"],
            **nothing,
        },
        {
            "clusters": ["x"],
            "quarantined": 2,
            "nameless": None,
            "unread_principals": None,
            **nothing,
        },
        {
            "clusters": ["y"],
            "quarantined": 9,
            "nameless": 9,
            "unread_principals": ["User:y"],
            **nothing,
        },
    ]

    assert unread_in_files(files, "x") == UnreadLines(frozenset({"User:a"}), 3)
    assert list(describe_unread(UnreadLines())) == []


def test_truncated_files_hold_back_advice_in_any_run(tmp_path: Path) -> None:
    """The rest may have the only use of any grant; later runs, and propose, say so again."""
    Month(tmp_path, "")
    log = tmp_path / "a.log"
    lines = log.read_text().splitlines(keepends=True)
    for day in range(DAYS):
        packed = gzip.compress("".join(lines[day * USUAL : (day + 1) * USUAL]).encode())
        packed = packed[:-9] if day < 2 else packed
        (tmp_path / f"a.log.2026-11-{day + 1:02}.gz").write_bytes(packed)
    log.unlink()
    month = Output(tmp_path / "out", str(tmp_path / "a.log*"))
    limits = DEFAULT_THRESHOLDS._replace(days=0, agreement=0, start_days=0)

    for _ in range(2):
        summary = month.run(acls=(str(tmp_path / "acls.csv"),), thresholds=limits)
        (told,) = (each for each in summary.run["warnings"] if each.startswith("lines are miss"))
        assert told.endswith("not covered: 2026-11-01, 2026-11-02")
        days, torn = summary.evidence.lacking
        assert days.startswith("50% of the days have allowed decisions")
        assert torn.startswith("2 compressed files break off")
        assert summary.evidence.lost_lines == torn
    usual = ["--tables", str(tmp_path / "out"), "--engine", "local", "--quiet"]
    refused = CliRunner().invoke(pipeline, ["propose", *usual])
    assert "on 2 of 4 days" in str(refused.exception)
    lowered_limits = limits._replace(coverage=0)
    month.run(acls=(str(tmp_path / "acls.csv"),), thresholds=lowered_limits)
    lowered = CliRunner().invoke(pipeline, ["propose", *usual])
    assert "2 truncated compressed files" in lowered.output


def test_one_truncated_file_among_many(tmp_path: Path) -> None:
    """It holds advice back until a run reads it whole, or the limit is given up."""
    for day in range(1, 21):
        lines = "".join(APP.format(day=day, minute=minute) for minute in range(USUAL))
        (tmp_path / f"a.log.2026-11-{day:02}.gz").write_bytes(gzip.compress(lines.encode()))
    torn = tmp_path / "a.log.2026-11-07.gz"
    whole = torn.read_bytes()
    torn.write_bytes(whole[:-9])
    (tmp_path / "acls.csv").write_text(ACLS)
    output = Output(tmp_path / "out", str(tmp_path / "a.log*"))

    def verdict(coverage: float = 90) -> str:
        limits = NO_THRESHOLDS._replace(coverage=coverage)
        output.run(acls=(str(tmp_path / "acls.csv"),), thresholds=limits)
        rows = delta.Tables(output.out).read("unused_grants")
        (found,) = rows.filter(principal="User:svc")["proposal"]
        return str(found)

    assert verdict() == "NOT_ENOUGH_EVIDENCE"
    assert verdict(coverage=0) == "REMOVE"
    assert verdict() == "NOT_ENOUGH_EVIDENCE"
    torn.write_bytes(whole)
    assert verdict() == "REMOVE"


def test_unnamed_lines_of_another_file_hold_back_advice(tmp_path: Path) -> None:
    """A later run reads lines that name no principal, and no decision."""
    month = Month(tmp_path, "")
    assert month.proposals()["User:*"] == "REMOVE"
    torn = SVC.format(day=3).partition("User:svc")[0] + "User:s\n"
    other = "[2026-11-03 20:00:00,000] INFO started (kafka.server.KafkaServer)\n"
    (tmp_path / "b.log").write_text(5 * other + torn)
    month.inputs = (*month.inputs, str(tmp_path / "b.log"))

    assert month.proposals()["User:*"] == "NOT_ENOUGH_EVIDENCE"
