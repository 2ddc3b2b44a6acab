"""``doorkeeper acls export``, ``import``, ``diff``, ``plan`` and ``apply``, on a store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.acls.plan import Plan
from doorkeeper.cli.acls.plan_files import SavedPlan, plan_of
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.testing.server import DoorkeeperServer
from testkit.acl import READ, allow, group, topic
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from doorkeeper.acls.model import AclBinding

A, B, C = (allow(name, READ, topic(f"{name}-orders")) for name in "abc")
G = allow("a", READ, group("a-readers"))
ROW_A = "User:a,TOPIC,LITERAL,a-orders,READ,ALLOW,*"
ROW_B = "User:b,TOPIC,LITERAL,b-orders,READ,ALLOW,*"


@dataclass
class Desk:
    """A store, files beside it, and a way to run lines on them."""

    folder: Path

    def run(self, *words: str, answer: str = "") -> Result:
        return CliRunner().invoke(doorkeeper, ["acls", *words], input=answer)

    @property
    def store(self) -> str:
        return f"config:{self.folder / 'server.properties'}"

    def file(self, *bindings: AclBinding, name: str = "acls.yaml") -> str:
        path = self.folder / name
        path.write_text(write(bindings, Format.YAML))
        return str(path)

    def there(self) -> list[str]:
        return self.run("export", self.store, "--output", "csv").stdout.splitlines()[1:]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Give a store with two ACLs."""
    (tmp_path / "server.properties").write_text(
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        f"doorkeeper.data.dir={tmp_path / 'data'}\n"
    )
    made = Desk(tmp_path)
    result = made.run("import", made.file(A, B), made.store)
    assert (result.exit_code, result.stderr) == (0, "doorkeeper: 2 added, 0 removed\n")
    return made


def test_export_round_trips_in_every_format(desk: Desk, tmp_path: Path) -> None:
    for how in ("yaml", "csv-kafka-ui", "kafka"):
        out = str(tmp_path / f"out.{how}")
        assert desk.run("export", desk.store, "--output", how, "--out", out).exit_code == 0
        assert desk.run("diff", out, desk.store).exit_code == 0

    assert desk.run("import", desk.file(C), desk.store).exit_code == 0
    assert len(desk.there()) == 3


def test_plan_exit_status_shows_changes(desk: Desk) -> None:
    """Status 3 where something would change, 0 where not; nothing is changed."""
    planned = desk.run("plan", desk.file(A, C), desk.store, "--whole")
    file = desk.file(A, B)
    as_it_is = desk.run("plan", file, desk.store, "--whole")

    assert planned.exit_code == 3
    assert planned.stdout.splitlines() == [
        "+ User:c,TOPIC,LITERAL,c-orders,READ,ALLOW,*",
        f"- {ROW_B}",
        f"Plan for revision 1 of {desk.store}, as in {file}: 1 to add, 1 to remove; 1 unchanged.",
    ]
    assert (as_it_is.exit_code, as_it_is.stdout) == (
        0,
        f"No changes for revision 1 of {desk.store}: 2 ACLs are up to date in {file}.\n",
    )
    assert desk.there() == [ROW_A, ROW_B]


def test_only_owned_acls_are_changed(desk: Desk) -> None:
    own = ("--own-prefix", "a-", "--yes")

    refused = desk.run("apply", desk.file(A, C), desk.store, *own)
    done = desk.run("apply", desk.file(G), desk.store, *own, "--own-principal", "User:a")

    assert refused.exit_code == 1
    assert "not owned: TOPIC 'c-orders' for User:c" in refused.stderr
    assert done.stderr == "doorkeeper: 1 added, 1 removed\n"
    assert desk.there() == [ROW_B, "User:a,GROUP,LITERAL,a-readers,READ,ALLOW,*"]


@pytest.mark.parametrize(("answer", "left"), [("\n", 2), ("", 2), ("y\n", 1)])
def test_apply_asks_for_confirmation(desk: Desk, answer: str, left: int) -> None:
    result = desk.run("apply", desk.file(A), desk.store, "--whole", answer=answer)

    assert result.stdout.startswith(f"- {ROW_B}\nPlan: 0 to add, 1 to remove")
    assert "Apply this plan? [y/N]" in result.stderr
    assert len(desk.there()) == left
    assert result.exit_code == (0 if left == 1 else 1)
    assert ("nothing was changed: cancelled" in result.stderr) is (left == 2)


def test_saved_plan_makes_exactly_its_changes(desk: Desk, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept.plan")
    words = ("plan", desk.file(A, C), desk.store, "--whole", "--out", kept)
    assert desk.run(*words).exit_code == 3
    desk.run("import", desk.file(G), desk.store)

    first = desk.run("apply", kept, desk.store, "--plan", "--yes")
    again = desk.run("apply", kept, desk.store, "--plan", "--yes")

    assert first.stderr == "doorkeeper: 1 added, 1 removed\n"
    assert again.stdout == "No changes: 1 ACLs are up to date.\n"
    assert len(desk.there()) == 3


def test_saved_plan_is_bound_to_its_address(desk: Desk, tmp_path: Path) -> None:
    plan = str(tmp_path / "saved.plan")
    (tmp_path / "other.properties").write_text(
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        f"doorkeeper.data.dir={tmp_path / 'other'}\n"
    )
    other = f"config:{tmp_path / 'other.properties'}"
    again = f"config:{tmp_path / '..' / tmp_path.name / 'server.properties'}"
    desk.run("import", desk.file(A), other)
    desk.run("plan", desk.file(A, C), desk.store, "--whole", "--out", plan)

    refused = desk.run("apply", plan, other, "--plan", "--yes")
    forced = desk.run("apply", plan, other, "--plan", "--yes", "--other-address")
    same = desk.run("apply", plan, again, "--plan", "--yes")

    assert refused.exit_code == 2
    said = " ".join(refused.stderr.split())
    assert (
        f"{plan} was made for {desk.store}, not for {other}; to apply it anyway, add"
        " --other-address"
    ) in said
    assert forced.stderr.endswith("doorkeeper: 1 added, 0 removed\n")
    assert same.stderr == "doorkeeper: 1 added, 1 removed\n"


def test_refused_plan_needs_the_same_option_when_it_is_applied(desk: Desk) -> None:
    """45 of 50 ACLs: the plan is written, and its file refuses as the command that made it."""
    many = [allow("a", READ, topic(f"t-{number}")) for number in range(50)]
    desk.run("apply", desk.file(*many), desk.store, "--whole", "--yes")
    kept = str(desk.folder / "kept.plan")

    planned = desk.run("plan", desk.file(*many[:5]), desk.store, "--whole", "--out", kept)
    refused = desk.run("apply", kept, desk.store, "--plan", "--yes")
    left = len(desk.there())
    accepted = desk.run("apply", kept, desk.store, "--plan", "--yes", "--accept", "size")

    assert planned.exit_code == 1
    said = "45 of 50 ACLs would be removed; the limit is 50% of them"
    assert json.loads((desk.folder / "kept.plan").read_text("utf-8"))["refused"] == [
        {"rule": "size", "reason": said}
    ]
    assert refused.exit_code == 1
    assert (
        f"{said} (to remove many ACLs at once: --accept size or --max-removals)" in refused.stderr
    )
    assert refused.stderr.endswith("doorkeeper: nothing was changed\n")
    assert left == 50
    assert (accepted.exit_code, len(desk.there())) == (0, 5)


def test_reason_in_the_file_refuses_a_plan_by_itself(desk: Desk) -> None:
    """What its author was refused, another login may not be able to judge."""
    kept = desk.folder / "kept.plan"
    desk.run("plan", desk.file(A), desk.store, "--whole", "--out", str(kept))
    document = json.loads(kept.read_text("utf-8"))
    document["refused"] = [{"rule": "open", "reason": "it opens TOPIC 'b-orders'"}]
    kept.write_text(json.dumps(document))

    refused = desk.run("apply", str(kept), desk.store, "--plan", "--yes")
    accepted = desk.run("apply", str(kept), desk.store, "--plan", "--yes", "--accept", "open")

    assert refused.exit_code == 1
    assert "it opens TOPIC 'b-orders' (to remove the last ACL of a resource" in refused.stderr
    assert accepted.stderr == "doorkeeper: 0 added, 1 removed\n"


def test_plan_of_another_cluster_at_the_same_address_is_refused(desk: Desk) -> None:
    kept = desk.folder / "kept.plan"
    desk.run("plan", desk.file(A), desk.store, "--whole", "--out", str(kept))
    document = json.loads(kept.read_text("utf-8"))
    own, document["cluster"] = document["cluster"], "AnotherClusterAtThisPl"
    kept.write_text(json.dumps(document))
    words = ("apply", str(kept), desk.store, "--plan")

    refused = desk.run(*words, "--yes")
    dry = desk.run(*words, "--dry-run")
    left = len(desk.there())
    forced = desk.run(*words, "--yes", "--other-address")

    assert (refused.exit_code, dry.exit_code, left) == (1, 1, 2)
    assert refused.stderr == dry.stderr
    assert (
        f"{desk.store}: found cluster {own}; the plan was made for cluster AnotherClusterAtThisPl;"
        " to apply it anyway, add --other-address" in refused.stderr
    )
    assert forced.stderr == "doorkeeper: 0 added, 1 removed\n"


def test_plan_is_not_repeated_on_acls_that_came_back(desk: Desk) -> None:
    kept = str(desk.folder / "kept.plan")
    desk.run("plan", desk.file(A), desk.store, "--whole", "--out", kept)
    desk.run("apply", kept, desk.store, "--plan", "--yes")

    again = desk.run("apply", kept, desk.store, "--plan", "--yes")
    desk.run("import", desk.file(B), desk.store)
    stale = desk.run("apply", kept, desk.store, "--plan", "--yes")

    assert again.exit_code == 0
    assert again.stderr == (
        "doorkeeper: note: the ACLs are not as the plan found them: of those to add, 0 of 0 exist,"
        " and of those to remove, 1 of 1 do not\n"
    )
    assert stale.exit_code == 1
    assert stale.stderr.startswith(
        f"doorkeeper: changed by others since the plan was made, at revision 1: {ROW_B};"
    )
    assert len(desk.there()) == 2


def test_diff_as_json(desk: Desk) -> None:
    """As JSON for programs; status 3."""
    result = desk.run(
        "diff", desk.store, desk.file(A, C, name="other.yaml"), "--output", "json",
        "--own-type", "topic",
    )  # fmt: skip

    assert result.exit_code == 3
    saved = plan_of(result.stdout)
    assert saved == SavedPlan(Plan((C,), (B,), 1, 0), desk.store, 1, cluster_id=saved.cluster_id)
    assert saved.cluster_id
    assert json.loads(result.stdout)["wanted"] == {
        "place": str(desk.folder / "other.yaml"),
        "revision": None,
    }


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("plan none.yaml {store}", 1, "none.yaml: No such file"),
        ("apply {file} acls.yaml", 2, "acls.yaml is a file, which is read-only; expected"),
        ("apply {file} {store} --plan", 1, "acls.yaml: line 1: not JSON"),
        (
            "apply x.plan {store} --plan --whole",
            2,
            "--plan cannot be combined with --own-... or --whole",
        ),
        ("plan {file} {store} --whole --own-prefix a", 2, "--whole selects"),
        (
            "plan {file} {store} {store}",
            2,
            "is not a file or folder; with several WANTED, each must be one",
        ),
        ("apply {file} {file} {store} --plan", 2, "--plan takes one plan file"),
        ("plan - - {store}", 2, "standard input (-) can be given only once"),
        ("diff - -", 2, "standard input (-) can be given only once"),
        ("plan {file} {store} --own-type tpic", 2, "resource type: found 'tpic'; allowed: TOPIC"),
        ("export config:none.properties", 1, "none.properties: cannot be read"),
        ("plan {file} {store} --own-principal alice", 2, "principalType:principalName"),
        ("import {file} {store} --command-config no.properties", 2, "--command-config requires a"),
        (
            "diff kafka://a:1 {store} --right-command-config x",
            2,
            "--right-command-config requires a",
        ),
        ("export {store} --out /no/such/folder/x", 1, "No such file"),
    ],
)
def test_errors_are_one_line(desk: Desk, words: str, status: int, said: str) -> None:
    """On stderr, without a traceback; 2 is wrong usage."""
    line = words.format(store=desk.store, file=desk.file(A))

    result = desk.run(*line.split())

    assert result.exit_code == status
    assert said in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("command", "name"),
    [("plan", "no.txt"), ("apply", "no.csv"), ("diff", "no.yaml"), ("import", "-")],
)
def test_empty_file_is_rejected(desk: Desk, command: str, name: str) -> None:
    word = name if name == "-" else str(desk.folder / name)
    if name != "-":
        (desk.folder / name).touch()

    result = desk.run(command, word, desk.store)

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"doorkeeper: {word}: ")
    assert result.stderr.count("\n") == 1
    assert len(desk.there()) == 2


def test_empty_prefix_is_rejected(desk: Desk) -> None:
    result = desk.run("apply", desk.file(), desk.store, "--own-prefix", "", "--yes")

    assert result.exit_code == 2
    assert "own all names" in result.stderr
    assert len(desk.there()) == 2


@pytest.mark.parametrize("saved", [False, True])
def test_removals_are_limited(desk: Desk, *, saved: bool) -> None:
    """More than --max-removals change nothing, also from a saved plan."""
    file, what = desk.file(), "--whole"
    if saved:
        plan = str(desk.folder / "saved.plan")
        assert desk.run("plan", file, desk.store, "--whole", "--out", plan).exit_code == 3
        file, what = plan, "--plan"
    words = ("apply", file, desk.store, what, "--yes", "--max-removals")

    refused = desk.run(*words, "1")
    left = desk.there()
    done = desk.run(*words, "2")

    assert refused.exit_code == 1
    assert "2 ACLs would be removed; the limit is 1 (to remove many" in refused.stderr
    assert refused.stderr.endswith("doorkeeper: nothing was changed\n")
    assert len(left) == 2
    assert (done.exit_code, desk.there()) == (0, [])


def test_plan_notes_how_the_release_treats_hosts(desk: Desk) -> None:
    """4.4 refuses what is no network; 4.3 stores a network that no client matches."""
    network = allow("a", READ, topic("t"), host="10.0.0.0/8")
    broken = allow("a", READ, topic("t"), host="10.0.0.0/33")
    wanted = desk.file(A, B, network, broken, name="wanted.yaml")
    row = "User:a,TOPIC,LITERAL,t,READ,ALLOW,10.0.0.0"

    newer = desk.run("plan", wanted, desk.store).stderr
    config = str(desk.folder / "server.properties")
    CliRunner().invoke(doorkeeper, ["store", "release", f"config:{config}", "4.3", "--yes"])
    older = desk.run("apply", wanted, desk.store, "--dry-run").stderr
    applied = desk.run("import", wanted, desk.store).stderr
    accepted = desk.run("import", wanted, desk.store, "--accept", "networks").stderr

    assert f"note: Kafka 4.4 rejects {row}/33: Invalid CIDR notation" in newer
    assert newer.count("note:") == 1
    assert older == applied
    assert "1 ACL with a network as host: the cluster's release compares hosts as strings" in older
    assert older.endswith("--accept networks)\ndoorkeeper: nothing was changed\n")
    assert accepted == "doorkeeper: 2 added, 0 removed\n"


def test_without_ownership_nothing_is_removed(desk: Desk) -> None:
    """plan and apply only add, and say how many ACLs stay; --whole counts what it removes."""
    planned = desk.run("plan", desk.file(C), desk.store)
    applied = desk.run("apply", desk.file(C), desk.store, "--yes")
    after = desk.there()
    whole = desk.run("apply", desk.file(C), desk.store, "--whole", "--yes")

    note = "doorkeeper: note: 2 other ACLs are kept: "
    assert planned.stderr.startswith(note)
    assert "acls.yaml: 1 to add, 0 to remove; 0 unchanged; 2 not owned." in planned.stdout
    assert applied.stderr.startswith(note)
    assert len(after) == 3
    assert "note: --whole removes 2 of the 3 existing ACLs\n" in whole.stderr
    assert len(desk.there()) == 1


def test_owning_file_removes_missing_acls(desk: Desk) -> None:
    team, teams = desk.folder / "team.yaml", desk.folder / "teams"
    team.write_text("version: 1\nowns: {prefixes: a-}\nacls: []\n")
    teams.mkdir()
    desk.file(C, name="teams/rest.yaml")
    config = str(desk.folder / "server.properties")

    planned = desk.run("plan", str(team), str(teams), f"config:{config}")
    applied = desk.run("apply", str(team), str(teams), desk.store, "--yes")
    again = desk.run("plan", str(team), str(teams), desk.store)

    *changes, last = planned.stdout.splitlines()
    assert changes == ["+ User:c,TOPIC,LITERAL,c-orders,READ,ALLOW,*", f"- {ROW_A}"]
    assert f", as in {team} and 1 more: 1 to add, 1 to remove; 0 unchanged; 1 not owned." in last
    assert applied.stderr == "doorkeeper: 1 added, 1 removed\n"
    assert desk.there() == [ROW_B, "User:c,TOPIC,LITERAL,c-orders,READ,ALLOW,*"]
    assert again.exit_code == 0


def test_example_teams_apply_together(desk: Desk) -> None:
    teams = ROOT / "examples" / "teams"
    drift = desk.file(allow("mallory", READ, topic("pay-orders")), name="drift.yaml")
    overlapping = desk.folder / "overlapping.yaml"
    overlapping.write_text("version: 1\nowns: {prefixes: pay-orders}\nacls: []\n")
    desk.run("apply", str(teams), desk.store, "--yes")
    desk.run("import", drift, desk.store)

    found = desk.run("plan", str(teams), str(ROOT / "examples" / "teams-topics"), desk.store)
    refused = desk.run("plan", str(teams), str(overlapping), desk.store)
    applied = desk.run("apply", str(teams), desk.store, "--yes")

    assert found.stdout.splitlines()[0] == "- User:mallory,TOPIC,LITERAL,pay-orders,READ,ALLOW,*"
    # A store has no topics that could be planned without its server.
    assert (
        "note: topics, users and quotas in WANTED are ignored; to include them, use" in found.stderr
    )
    assert refused.exit_code == 1
    assert f"{teams / 'payments.yaml'} line 3 and {overlapping} line 2 both own" in refused.stderr
    assert applied.stderr.endswith("0 added, 1 removed\n")


def test_plan_as_markdown(desk: Desk) -> None:
    odd = allow("@team/```", READ, topic("a|b"))
    file = desk.file(A, odd)

    planned = desk.run("plan", file, desk.store, "--whole", "--output", "markdown")

    assert planned.stdout.splitlines() == [
        (
            f"**Plan for revision 1 of {desk.store}, as in {file}: 1 to add, 1 to remove;"
            " 1 unchanged.**"
        ),
        "",
        "````diff",
        "+ User:@team/```,TOPIC,LITERAL,a|b,READ,ALLOW,*",
        f"- {ROW_B}",
        "````",
    ]


def test_empty_export_selection_is_noted(desk: Desk) -> None:
    found = desk.run("export", desk.store, "--own-prefix", "a_")

    assert (found.exit_code, found.stdout) == (0, "version: 1\nacls: []\n")
    assert found.stderr == (
        f"doorkeeper: note: --own-... selects none of the 2 ACLs in {desk.store}\n"
    )


def test_fail_on_unowned_acls(desk: Desk) -> None:
    team = desk.folder / "team.yaml"
    team.write_text("version: 1\nowns: {prefixes: a-}\nacls: []\n")

    usual = desk.run("plan", str(team), desk.store)
    failing = desk.run("plan", str(team), desk.store, "--fail-on", "unowned")
    document = desk.run("plan", str(team), desk.store, "--fail-on", "unowned", "--output", "json")
    owned = desk.run("plan", str(team), desk.store, "--whole", "--fail-on", "unowned")

    assert (usual.exit_code, failing.exit_code, owned.exit_code) == (3, 1, 3)
    assert ROW_B not in usual.stdout
    assert failing.stdout.splitlines()[:2] == [f"- {ROW_A}", f"! {ROW_B}"]
    assert failing.stderr == (
        "doorkeeper: --fail-on unowned: 1 ACLs are neither desired nor owned\n"
    )
    assert [each["principal"] for each in json.loads(document.stdout)["unowned"]] == ["User:b"]
    # The output of a plan is the file of a plan.
    assert plan_of(document.stdout).plan.removed == (A,)


def test_assert_checks_the_planned_result(desk: Desk) -> None:
    rules = desk.folder / "rules.yaml"
    rules.write_text(
        "version: 1\nrules:\n"
        f"- {{rule: never, principal: '{B.entry.principal}', operation: READ,"
        f" resourceType: TOPIC, name: {B.pattern.name}, patternType: LITERAL}}\n"
    )
    file, ours = desk.file(A), ("--assert", str(rules), "--allow-everyone")

    added = desk.run("plan", file, desk.store, *ours)
    removed = desk.run("plan", file, desk.store, "--whole", *ours[:2])
    document = json.loads(desk.run("plan", file, desk.store, *ours, "--output", "json").stdout)
    markdown = desk.run("plan", file, desk.store, *ours, "--output", "markdown").stdout

    assert (added.exit_code, removed.exit_code) == (1, 3)
    assert "broken: " in added.stdout
    assert added.stderr.endswith("doorkeeper: --assert: 1 rules: 0 hold, 1 broken\n")
    assert "1 rules: 1 hold, 0 broken" in removed.stdout
    assert document["rules"][0]["holds"] is False
    assert document["policy"]["allowEveryone"] is True
    assert "**1 rules: 0 hold, 1 broken**" in markdown


def test_fail_on_selected_changes(desk: Desk) -> None:
    """--fail-on exits with 1 after the plan; other changes with 3."""
    narrower = desk.file(A)
    wider = desk.file(A, B, C, name="wider.yaml")
    fail_on = ("--fail-on", "widening", "--fail-on", "removal")

    removal = desk.run("plan", narrower, desk.store, "--whole", *fail_on)
    widening = desk.run("plan", wider, desk.store, *fail_on)
    other = desk.run("plan", wider, desk.store, "--fail-on", "removal")
    none = desk.run("plan", narrower, desk.store, *fail_on)
    differing = desk.run("diff", desk.store, narrower, "--fail-on", "removal")

    assert (removal.exit_code, widening.exit_code, other.exit_code) == (1, 1, 3)
    assert (none.exit_code, differing.exit_code) == (0, 1)
    assert removal.stdout.splitlines()[0] == f"- {ROW_B}"
    assert "--fail-on removal: 1 ACLs are removed" in removal.stderr
    assert "--fail-on widening: 1 region of requests would become allowed" in widening.stderr
    assert "  User:c  READ, DESCRIBE  topic c-orders\n" in widening.stderr


def test_render_expands_roles(desk: Desk) -> None:
    file = desk.folder / "roles.yaml"
    file.write_text(
        "version: 1\ngrants:\n"
        "- {role: consumer, principal: 'User:a', topic: orders, group: billing}\n"
    )
    shown = desk.run("render", str(file), "--output", "csv")

    assert shown.stdout.splitlines()[1:] == [
        "User:a,TOPIC,LITERAL,orders,READ,ALLOW,*",
        "User:a,TOPIC,LITERAL,orders,DESCRIBE,ALLOW,*",
        "User:a,GROUP,LITERAL,billing,READ,ALLOW,*",
    ]


def test_remaining_acls_of_deleted_entities_are_noted(desk: Desk) -> None:
    wanted = desk.folder / "team.yaml"
    wanted.write_text("version: 1\nacls: []\nowns: [{topics: ordold, users: ann}]\n")
    acls = [allow("other", READ, topic("ordold")), allow("ann", READ, topic("t"))]
    with DoorkeeperServer(
        topics=["ordold"], users={"ann": "pw"}, principals=["User:other"], acls=acls
    ) as server:
        config = desk.folder / "admin.properties"
        server.client_config("admin").write_java(config)
        words = (
            str(wanted),
            f"kafka://{server.bootstrap_servers}",
            "--command-config",
            str(config),
        )

        planned = desk.run("plan", *words, "--delete-topics")
        applied = desk.run("apply", *words, "--delete-topics", "--yes", "--max-removals", "9")

    for result in (planned, applied):
        assert (
            "note: 1 ACL on ordold stays and will apply again if the topic is recreated: User:other"
        ) in result.stderr
        assert (
            "note: 1 ACL of User:ann stays and will apply to any new user of this name"
        ) in result.stderr


def test_diff_with_mirrormaker_prefix(desk: Desk) -> None:
    target = desk.file(allow("a", READ, topic("src.a-orders")), name="target.yaml")
    source = desk.file(A, G, name="source.yaml")

    found = desk.run("diff", source, target, "--left-topic-prefix", "src.")

    assert found.stdout.splitlines()[0] == "- User:a,GROUP,LITERAL,a-readers,READ,ALLOW,*"
    assert "1 only in" in found.stdout
