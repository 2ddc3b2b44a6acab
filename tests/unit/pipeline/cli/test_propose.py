"""Proposals, as a command."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.acls.formats import choosing
from doorkeeper.cli.commands import doorkeeper
from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.errors import Conflicting, PipelineError
from doorkeeper_pipeline.evaluation.evidence import NOTHING_ALLOWED
from doorkeeper_pipeline.tables import delta

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

LINE = (
    "[2026-11-22 07:10:00,000] DEBUG Principal = User:a is Allowed Operation = Read from host = h"
    " on resource = Topic:LITERAL:t1 (kafka.authorizer.logger)\n"
)
ANY_LENGTH = ("--min-days", 0)
ACLS = """version: 1
acls:
- {resourceType: TOPIC, name: t, patternType: PREFIXED, principal: 'User:a', operation: READ}
- {resourceType: TOPIC, name: old, principal: 'User:a', operation: WRITE}
"""


def called(*arguments: object) -> Result:
    """Call a command without a JVM."""
    name, *options = map(str, arguments)
    return CliRunner().invoke(pipeline, [name, "--engine", "local", "--quiet", *options])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of a history in which one of two grants was used; no test changes them."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "a.log").write_text(LINE * 3)
    (folder / "acls.yaml").write_text(ACLS)
    done = called(
        *("run", "--log", folder / "a.log", "--acls", folder / "acls.yaml"),
        *("--tables", folder / "out", *ANY_LENGTH),
    )
    assert done.exit_code == 0, done.output
    return folder / "out"


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """Return a copy of these tables."""
    return shutil.copytree(made, tmp_path / "out")


def test_changes_are_printed_without_output_file(out: Path) -> None:
    done = called("propose", "--tables", out)

    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "2 -> 1 ACLs: 0 added, 1 removed",
        "of the whole history it newly forbids 0 decisions and newly allows 0",
        (
            "with allow.everyone.if.no.acl.found=true it would open the resources of 1 removed"
            " ACL to everyone; then run with --allow-everyone"
        ),
        "RISK: principals may lose access: --min-days 0 is below 35",
        (
            "- resourceType=TOPIC, resourceName=old, patternType=LITERAL, principal=User:a, host=*,"
            " operation=WRITE, permissionType=ALLOW"
        ),
    ]


def test_output_files(out: Path, tmp_path: Path) -> None:
    target, script = tmp_path / "new.yaml", tmp_path / "new.sh"

    done = called(
        *("propose", "--tables", out, "--out", target, "--changes", script),
        *("--method", "least-privilege", "--method", "unused"),
    )

    assert done.exit_code == 0, done.output
    assert "newly forbids 0 decisions" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("to review: doorkeeper acls diff ")
    assert len(choosing.read(target.read_text(), name=target.name)) == 1
    assert "kafka-acls.sh" in script.read_text()
    assert len(delta.Tables(out).read("least_privilege")) == 1


def test_proposal_for_one_leaves_the_table_of_the_run(out: Path) -> None:
    before = delta.Tables(out).read("least_privilege")
    options = ("--method", "least-privilege", "--principal", "User:a")
    listing = out.parent / "one.csv"
    listing.write_text(
        "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
        "User:a,TOPIC,LITERAL,unknown,READ,ALLOW,*\n"
    )

    done = called("propose", "--tables", out, "--acls", listing, "--accept-lost-access", *options)

    assert done.exit_code == 0, done.output
    assert len(before) == 1
    assert delta.Tables(out).read("least_privilege").equals(before)


def test_a_plan_leaves_acls_alone_that_are_newer_than_the_listing(
    out: Path, tmp_path: Path
) -> None:
    """The difference between the new listing and the proposed set would remove them."""
    changes, store = tmp_path / "removal.json", f"store:{tmp_path / 'data'}"
    newer = "- {resourceType: TOPIC, name: new, principal: 'User:new', operation: READ}\n"
    (tmp_path / "now.yaml").write_text(ACLS + newer)

    def acls(*arguments: object) -> str:
        done = CliRunner().invoke(doorkeeper, ["acls", *map(str, arguments)])
        assert done.exit_code == 0, done.output
        return done.stdout

    proposed = called("propose", "--tables", out, "--changes", changes)
    acls("apply", tmp_path / "now.yaml", store, "--yes")
    acls("apply", changes, store, "--plan", "--yes")

    assert "apply it with: doorkeeper acls apply" in proposed.stdout
    assert acls("export", store, "--output", "csv").splitlines()[1:] == [
        "User:new,TOPIC,LITERAL,new,READ,ALLOW,*",
        "User:a,TOPIC,PREFIXED,t,READ,ALLOW,*",
    ]


def test_changes_of_no_known_format_are_refused_before_the_work(out: Path, tmp_path: Path) -> None:
    done = called("propose", "--tables", out, "--changes", tmp_path / "removal.txt")

    assert "allowed: .json (a plan), .sh (commands)" in str(done.exception)


def test_accepted_findings_are_kept(out: Path, tmp_path: Path) -> None:
    (binding_id,) = delta.Tables(out).read("unused_grants")["binding_id"]
    finding = {"kind": "unused grant", "text": "old", "first_seen": "2020-01-01"}

    def proposed(until: str) -> str:
        found = {f"unused:{binding_id}": finding | {"accepted_until": until}}
        findings = tmp_path / "findings.json"
        findings.write_text(json.dumps({"version": 1, "findings": found}))
        return called("propose", "--tables", out, "--findings", findings).stdout

    assert proposed("2020-01-31").startswith("2 -> 1 ACLs")
    accepted = proposed("2999-12-31")
    assert accepted.startswith("2 -> 2 ACLs: 0 added, 0 removed")
    assert "kept, accepted until 2999-12-31: resourceType=TOPIC, resourceName=old," in accepted


def test_options_of_the_last_run_are_reused(tmp_path: Path) -> None:
    """Super users, --kafka and thresholds stay with the tables until the next run."""
    root = LINE.replace("User:a", "User:root").replace(
        " (kafka", " for request = Fetch with resourceRefCount = 1 based on rule SuperUser (kafka"
    )
    (tmp_path / "a.log").write_text(LINE * 3 + root.replace("Operation = Read", "operation = READ"))
    (tmp_path / "acls.yaml").write_text(ACLS)
    out = tmp_path / "out"
    made = called(
        *("run", "--log", tmp_path / "a.log", "--acls", tmp_path / "acls.yaml", "--tables", out),
        *("--super-user", "User:root", "--min-days", 0),
    )
    assert made.exit_code == 0, made.output
    target = tmp_path / "new.yaml"

    done = called("propose", "--tables", out, "--out", target)

    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("2 -> 1 ACLs")
    assert "RISK: principals may lose access: --min-days 0 is below 35" in done.stdout
    tried = called("backtest", "--tables", out, "--proposal", target)
    assert (tried.exit_code, tried.stderr) == (0, "")
    assert called("run", "--tables", out, "--super-user", "User:root").exit_code == 0
    assert "--min-days" in str(called("propose", "--tables", out).exception)
    assert called("run", "--tables", out, "--super-user", "User:other").exit_code == 4
    other = called("propose", "--tables", out)
    assert "add --super-user User:root" in str(other.exception)


@pytest.mark.parametrize(("release", "counts"), [((), "2 -> 2"), (("--kafka", "4.4"), "2 -> 1")])
def test_network_covers_a_grant_only_if_the_release_is_given(
    tmp_path: Path, release: tuple[str, ...], counts: str
) -> None:
    """Before Kafka 4.4 it matches no address: the other grant is the only one that works."""
    (tmp_path / "a.log").write_text(LINE.replace("host = h", "host = 10.0.0.7") * 3)
    grant = "- {resourceType: TOPIC, name: t1, principal: 'User:a', operation: READ"
    listing = f"version: 1\nacls:\n{grant}}}\n{grant}, host: 10.0.0.0/8}}\n"
    (tmp_path / "acls.yaml").write_text(listing)
    made = called(
        *("run", "--log", tmp_path / "a.log", "--acls", tmp_path / "acls.yaml"),
        *("--tables", tmp_path / "out", "--min-days", 0, "--min-start-days", 0, *release),
    )
    assert made.exit_code == 0, made.output

    done = called("propose", "--tables", tmp_path / "out", "--method", "unused")

    assert done.stdout.startswith(f"{counts} ACLs"), done.output


def test_short_history_is_rejected(out: Path, tmp_path: Path) -> None:
    script = tmp_path / "new.sh"
    assert called("run", "--tables", out).exit_code == 0

    with pytest.raises(PipelineError, match=r"(?s)not enough evidence: .*35 days.*--min-days") as e:
        CliRunner().invoke(
            pipeline,
            ["propose", "--engine", "local", "-q", "--tables", str(out), "--changes", str(script)],
            catch_exceptions=False,
        )

    assert "--accept-lost-access" in str(e.value)
    assert not script.exists()


def test_overridden_evidence_is_noted_in_the_script(out: Path, tmp_path: Path) -> None:
    script = tmp_path / "new.sh"
    assert called("run", "--tables", out).exit_code == 0

    done = called("propose", "--tables", out, "--changes", script, "--accept-lost-access")

    assert done.exit_code == 0, done.output
    risk = "RISK: principals may lose access: the history is 0 seconds long"
    assert f"# {risk}" in script.read_text()
    assert risk in done.stdout


def test_log_of_denials_shows_no_loss(tmp_path: Path) -> None:
    """A proposal from it says so, in place of "newly forbids 0 decisions"."""
    (tmp_path / "a.log").write_text(LINE.replace("Allowed", "Denied") * 3)
    (tmp_path / "acls.yaml").write_text(ACLS)
    out = tmp_path / "out"
    called("run", "--log", tmp_path / "a.log", "--acls", tmp_path / "acls.yaml", "--tables", out)

    done = called("propose", "--tables", out, "--accept-lost-access")

    assert done.exit_code == 0, done.output
    assert NOTHING_ALLOWED in done.stdout
    assert "newly forbids" not in done.stdout


@pytest.mark.parametrize("listing", [None, "version: 1\nacls: []\n"])
def test_empty_acls_make_no_proposal(tmp_path: Path, listing: str | None) -> None:
    (tmp_path / "a.log").write_text(LINE * 3)
    (tmp_path / "acls.yaml").write_text(listing or "")
    acls = () if listing is None else ("--acls", tmp_path / "acls.yaml")
    made = called(
        "run", "--log", tmp_path / "a.log", "--tables", tmp_path / "out", *acls, *ANY_LENGTH
    )
    propose = ("propose", "--tables", tmp_path / "out")

    assert made.exit_code == (0 if listing is None else 4), made.output
    refused = called(*propose)
    assert isinstance(refused.exception, Conflicting)
    assert "with --acls" in str(refused.exception)
    assert "0 -> 1 ACLs" in called(*propose, "--method", "least-privilege").stdout


def test_super_user_list_with_commas_is_noted(out: Path) -> None:
    """One line says what to write: as Kafka reads it, this is one name."""
    done = called("run", "--tables", out, "--super-user", "User:a,User:b")

    assert "with semicolons: User:a;User:b" in done.output


@pytest.mark.parametrize("wrong", ["admin", "User:a;b"])
def test_invalid_super_users_are_rejected(out: Path, wrong: str) -> None:
    done = called("run", "--tables", out, "--super-user", wrong)

    assert done.exit_code == 2
    assert "expected: Type:name, such as User:admin" in done.output


def test_unknown_principal_is_rejected(out: Path) -> None:
    done = called("propose", "--tables", out, "--principal", "User:A")

    assert isinstance(done.exception, PipelineError)
    assert "'User:A' has no ACL and no decision" in str(done.exception)
    assert called("propose", "--tables", out, "--principal", "User:a").exit_code == 0


REMOVED, ASKED = ("unneeded", "REMOVE"), ("unknown-age", "ASK")


@pytest.mark.parametrize(
    ("listings", "expected", "counts"),
    [
        (
            {"2026-08-01": "old", "2026-10-01": "old late", "2026-11-10": "old late new"},
            {"old": REMOVED, "late": REMOVED, "new": ("age", "NOT_ENOUGH_EVIDENCE")},
            "4 -> 2",
        ),
        ({"2026-11-10": "old"}, {"old": ASKED}, "2 -> 2"),
        ({"": "old"}, {"old": ASKED}, "2 -> 2"),
    ],
)
def test_removal_requires_enough_history(
    tmp_path: Path,
    listings: dict[str, str],
    expected: dict[str, tuple[str, str]],
    counts: str,
) -> None:
    """Grants were not used in 40 days; the listings say how long each of them is there."""
    days = (dt.date(2026, 10, 14) + dt.timedelta(days=each) for each in range(40))
    (tmp_path / "a.log").write_text("".join(LINE.replace("2026-11-22", str(day)) for day in days))
    used, unused = ACLS.splitlines(keepends=True)[:-1], ACLS.splitlines(keepends=True)[-1]
    sets: list[str] = []
    for number, (day, names) in enumerate(listings.items()):
        acls = (unused.replace("name: old", f"name: {name}") for name in names.split())
        (tmp_path / f"{number}.yaml").write_text("".join([*used, *acls]))
        sets += ["--acls", f"{tmp_path / f'{number}.yaml'}{day and f'@{day}'}"]

    made = called("run", "--log", tmp_path / "a.log", *sets, "--tables", tmp_path / "out")

    assert made.exit_code == 0, made.output
    rows = delta.Tables(tmp_path / "out").read("unused_grants").to_dicts()
    assert {row["resource_name"]: (row["rule"], row["proposal"]) for row in rows} == expected
    for row in rows:
        is_removed = row["proposal"] == "REMOVE"
        assert bool(row["command"]) is is_removed
        assert is_removed or row["why"] in made.stdout
    assert called("propose", "--tables", tmp_path / "out").stdout.startswith(f"{counts} ACLs")
