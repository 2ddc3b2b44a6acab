"""What commands that inspect answer to each kind of input, and that there is an answer of each.

Commands are found by walking the trees of both programs, and looked up by their objects: a table
does not know the words of the command line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click
import pytest
from click.testing import CliRunner

from doorkeeper.cli import audit, clusters
from doorkeeper.cli.acls.assertions import assert_
from doorkeeper.cli.acls.lint import lint
from doorkeeper.cli.acls.questions import explain, what_can, who_can
from doorkeeper.cli.acls.sets import diff, plan
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.history.commands import verify as verify_history
from doorkeeper.cli.learn.commands import command as learn
from doorkeeper.cli.vocabulary.json_output import records_of, schema_of
from doorkeeper_pipeline.cli import backtest, failures, propose, report, run, why
from doorkeeper_pipeline.cli.commands import pipeline
from testkit.trails import written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result

ROW: Final = (
    "- {principal: 'User:alice', host: '*', operation: READ, permissionType: ALLOW,"
    " resourceType: TOPIC, name: orders, patternType: LITERAL}\n"
)
RULES: Final = (
    "version: 1\nrules:\n- {rule: never, principal: 'User:*', operation: WRITE,"
    " resourceType: TOPIC, name: pii, patternType: LITERAL}\n"
)
RECORD: Final = (
    "[2026-11-28 10:00:00,000] DEBUG Principal = User:alice is Allowed operation = READ from host ="
    " 10.0.0.7 on resource = Topic:LITERAL:orders for request = Fetch with resourceRefCount = 1"
    " based on rule SuperUser (kafka.authorizer.logger)\n"
)
READ: Final = "--operation Read --topic orders"
ALICE: Final = "--principal User:alice"
ACLS: Final = "--acls acls.yaml"
NO_FILE: Final = "No such file or directory"
NO_FOLDER: Final = "does not exist"


class Answer(NamedTuple):
    """The words behind a command, its status, and a part of its output."""

    words: str
    status: int
    text: str


class Answers(NamedTuple):
    """The answers to inputs of five kinds.

    ``misspelt`` is a word that names nothing in an input that is there; None where there is none.
    """

    empty: Answer
    missing: Answer
    unreadable: Answer
    partly: Answer
    misspelt: Answer | None = None


def of_acls(words: str, nothing: Answer, misspelt: Answer | None, failed: int = 1) -> Answers:
    """Return the answers of a command that reads the ACLs at an address."""
    return Answers(
        nothing,
        Answer(f"none.yaml {words}", failed, f"none.yaml: {NO_FILE}"),
        Answer(f"bad.yaml {words}", failed, "bad.yaml: "),
        # A part of a set would have other answers than the set.
        Answer(f"part {words}", failed, "part/bad.yaml: "),
        misspelt,
    )


TABLES: Final = Answer("--tables none", 2, NO_FOLDER)
TABLE: Final = {
    audit.verify: Answers(
        Answer("folder", 1, "folder: no audit log in this folder"),
        Answer("none", 1, f"none: {NO_FILE}"),
        Answer("acls.yaml", 1, "acls.yaml: Not a directory"),
        Answer("gap", 1, "gap: the audit log is incomplete"),
        # A folder, and not that of the audit log.
        Answer("part", 1, "part: no audit log in this folder"),
    ),
    verify_history: Answers(
        Answer("store:empty", 1, "store:empty: nothing was verified: the log is empty"),
        Answer("store:none", 1, "found no store (doorkeeper.db) in this folder"),
        Answer("store:torn", 1, "torn/doorkeeper.db: "),
        Answer(f"store:store --recorded 9:{'0' * 64}", 1, "is not in the log"),
    ),
    lint: of_acls(
        "",
        Answer("empty.yaml", 2, "empty.yaml: no ACLs to check"),
        Answer("acls.yaml --select E9", 2, "found 'E9'; allowed: "),
        failed=2,
    ),
    assert_: Answers(
        Answer("rules.yaml empty.yaml", 1, "empty.yaml: no ACLs to check"),
        Answer("none.yaml acls.yaml", 1, f"none.yaml: {NO_FILE}"),
        Answer("bad.yaml acls.yaml", 1, "bad.yaml: "),
        Answer("rules.yaml part", 1, "part/bad.yaml: "),
    ),
    # The next three answer a question, to which an empty set is an answer; it is in the answer.
    explain: of_acls(
        f"{ALICE} {READ}",
        Answer(f"empty.yaml {ALICE} {READ}", 0, "ACLs: 0, of empty.yaml"),
        None,
    ),
    who_can: of_acls(READ, Answer(f"empty.yaml {READ}", 0, "ACLs: 0, of empty.yaml"), None),
    what_can: of_acls(
        ALICE,
        Answer(f"empty.yaml {ALICE}", 0, "ACLs: 0, of empty.yaml"),
        Answer("acls.yaml --principal User:alcie", 0, "note: no ACL names User:alcie"),
    ),
    diff: of_acls(
        "acls.yaml",
        Answer("empty.yaml store:empty", 1, "nothing was compared: neither empty.yaml nor rev"),
        Answer("acls.yaml acls.yaml --own-prefix odrers", 1, "nothing was compared: neither acl"),
    ),
    plan: of_acls(
        "store:store",
        Answer("empty.yaml store:empty", 1, "nothing was compared: neither revision 0 of store:em"),
        Answer("acls.yaml store:store --own-prefix odrers", 1, "not owned: TOPIC 'orders'"),
    ),
    clusters.show_status: Answers(
        Answer("config:plain.properties", 1, "doorkeeper.clusters.file is not set"),
        Answer("config:none.properties", 1, f"cannot be read: {NO_FILE}"),
        Answer("config:bad.properties", 1, "bad.yaml:2: "),
        Answer("config:server.properties", 3, "a (enforce): "),
        Answer("config:server.properties --cluster-name b", 2, "found 'b'; allowed: a"),
    ),
    clusters.show_drift: Answers(
        Answer("config:plain.properties", 1, "doorkeeper.clusters.file is not set"),
        Answer("config:none.properties", 1, f"cannot be read: {NO_FILE}"),
        Answer("config:bad.properties", 1, "bad.yaml:2: "),
        Answer("config:server.properties", 3, "a: "),
        Answer("config:server.properties --cluster-name b", 2, "found 'b'; allowed: a"),
    ),
    learn: Answers(
        Answer("--log empty.log", 1, "no request in 0 lines"),
        Answer("--log none.log", 1, f"none.log: {NO_FILE}"),
        Answer("--log bad.yaml", 1, "bad.yaml:1: "),
        Answer("--log part.log", 0, "note: 1 lines could not be read; the first: part.log:2: "),
        Answer(
            "--log good.log --principal User:alcie",
            1,
            "no request of User:alcie in 1 lines; there are 1 of User:alice",
        ),
    ),
    run.command: Answers(
        Answer(f"--log empty.log {ACLS} --tables t1", 4, "the files contain no decisions"),
        Answer(f"--log none.log {ACLS} --tables t2", 3, "none.log: no such file or folder"),
        Answer("--log good.log --acls bad.yaml --tables t3", 3, "bad.yaml: "),
        Answer(f"--log part.log {ACLS} --tables t4 --super-user User:alice", 0, "1 in quarantine"),
    ),
    backtest.command: Answers(
        Answer("--tables folder --proposal acls.yaml", 3, "folder: found no decisions"),
        TABLES._replace(words="--tables none --proposal acls.yaml"),
        Answer("--tables folder --proposal bad.yaml", 3, "bad.yaml: "),
        Answer("--tables folder --proposal part", 2, "is a directory"),
    ),
    propose.command: Answers(
        Answer("--tables folder", 3, "folder: found no decisions"),
        TABLES,
        Answer("--tables acls.yaml", 2, "is a file"),
        Answer("--tables part", 3, "part: found no decisions"),
    ),
    why.command: Answers(
        Answer(f"{ALICE} --tables folder", 3, "folder: found no decisions"),
        TABLES._replace(words=f"{ALICE} --tables none"),
        Answer(f"{ALICE} --tables acls.yaml", 2, "is a file"),
        Answer(f"{ALICE} --tables part", 3, "part: found no decisions"),
    ),
    report.command: Answers(
        Answer("--tables tables --out r.html", 4, "tables: found no decisions"),
        TABLES._replace(words="--tables none --out r.html"),
        Answer("--tables acls.yaml --out r.html", 2, "is a file"),
        Answer("--tables folder --out r.html", 3, "folder: no tables here"),
    ),
}
ROOTS: Final = (doorkeeper, pipeline)


def leaves(command: click.Command, *words: str) -> Iterator[tuple[click.Command, tuple[str, ...]]]:
    """Yield each command that is not a group, with its words."""
    if not isinstance(command, click.Group):
        yield command, words
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        member = command.get_command(context, name)
        assert member is not None
        yield from leaves(member, *words, name)


LEAVES: Final = {leaf: (root, words) for root in ROOTS for leaf, words in leaves(root)}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with inputs of all kinds."""
    folder = tmp_path_factory.mktemp("inputs")
    for name in ("folder", "part", "gap", "torn"):
        (folder / name).mkdir()
    texts = {
        "acls.yaml": f"version: 1\nacls:\n{ROW}",
        "empty.yaml": "version: 1\nacls: []\n",
        "bad.yaml": "acls: [\n",
        "part/acls.yaml": f"version: 1\nacls:\n{ROW}",
        "part/bad.yaml": "acls: [\n",
        "rules.yaml": RULES,
        "torn/doorkeeper.db": "torn",
        "empty.log": "",
        "good.log": RECORD,
        "part.log": RECORD + RECORD[:120] + "\n",
        "clusters.yaml": "clusters: [{name: a, bootstrap: 'localhost:1', mode: enforce,"
        " scope: everything}]\n",
        "plain.properties": "doorkeeper.data.dir=store\n",
        "bad.properties": "doorkeeper.data.dir=store\ndoorkeeper.clusters.file=bad.yaml\n",
        "server.properties": "doorkeeper.data.dir=store\ndoorkeeper.clusters.file=clusters.yaml\n"
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    written(folder / "gap", 1, 1)
    written(folder / "gap", 3, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert invoke(doorkeeper, "store", "create", "store:empty").exit_code == 0
        assert invoke(doorkeeper, "acls", "import", "acls.yaml", "store:store").exit_code == 0
        tables = ("run", "--log", "empty.log", *ACLS.split(), "--tables", "tables", "--quiet")
        assert invoke(pipeline, *tables).exit_code == 4
    return folder


def invoke(root: click.Group, *words: str) -> Result:
    """Run a command as its program does."""
    if root is not pipeline:
        return CliRunner().invoke(root, words)
    with CliRunner().isolation() as (out, err, _):
        status = 0
        try:
            with failures.report_failures():
                root.main(words, standalone_mode=True)
        except SystemExit as end:
            status = int(end.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        return click.testing.Result(
            CliRunner(),
            out.getvalue(),
            err.getvalue(),
            out.getvalue() + err.getvalue(),
            None,
            status,
            None,
        )


def test_each_inspecting_command_is_in_the_table() -> None:
    """One that is not is a mistake: add its answers here."""
    counting = {
        leaf
        for leaf in LEAVES
        if (records := records_of(leaf)) and '"examined"' in json.dumps(schema_of(records))
    }
    # The JSON of these has other numbers.
    others = {learn, clusters.show_status} | {
        module.command for module in (backtest, propose, report, run, why)
    }

    assert counting | others == TABLE.keys()
    assert not counting & others


@pytest.mark.parametrize("kind", Answers._fields)
@pytest.mark.parametrize("command", TABLE, ids=lambda each: " ".join(LEAVES[each][1]))
def test_result_of_inspection(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, command: click.Command, kind: str
) -> None:
    answer = getattr(TABLE[command], kind)
    if answer is None:
        return
    monkeypatch.chdir(inputs)
    root, words = LEAVES[command]

    result = invoke(root, *words, *answer.words.split())

    assert (result.exit_code, answer.text in result.output) == (answer.status, True), result.output


@pytest.mark.parametrize(
    "command", [audit.verify, verify_history, lint, assert_, diff, plan], ids=str
)
def test_json_has_the_number_of_items(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, command: click.Command
) -> None:
    """Of what was examined; 0 for nothing, with the same status as text."""
    monkeypatch.chdir(inputs)
    root, words = LEAVES[command]
    answer = TABLE[command].empty

    result = invoke(root, *words, *answer.words.split(), "--output", "json")

    assert result.exit_code == answer.status
    assert json.loads(result.stdout)["examined"] == 0
