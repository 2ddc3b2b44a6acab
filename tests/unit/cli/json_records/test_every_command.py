"""``--output json`` of every command prints an object that its documented schema allows."""

from __future__ import annotations

import json
import shlex
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
import jsonschema
import pytest
from click.testing import CliRunner

from doorkeeper.cli.vocabulary.json_output import records_of, schema_of
from testkit.command_tree import PROGRAMS, commands
from testkit.synchronized import cluster, target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from click.testing import Result

EXAMPLES: Final = Path(__file__).parents[4] / "examples"

WITHOUT: Final = {
    "doorkeeper serve": "runs until a signal; its log has log.format=json",
    "doorkeeper console": "serves pages until a signal",
    "doorkeeper config init": "writes a configuration",
    "doorkeeper completion": "prints the script of a shell",
    "doorkeeper-pipeline completion": "prints the script of a shell",
}
"""Commands without a result, and why."""


class Step(NamedTuple):
    """The words behind a program, the status, and the standard input."""

    words: str
    status: int = 0
    typed: str = ""


WHERE: Final = "config:server.properties"
QUESTION: Final = "--principal User:alice --operation Read --topic orders"
STEPS: Final[Mapping[str, list[Step]]] = {
    "doorkeeper": [
        Step(f"acls add {WHERE} --allow-principal User:alice --operation Read --topic orders"),
        Step(f"acls add {WHERE} --allow-principal User:alice --operation Read --topic orders"),
        Step(f"acls import acls.yaml {WHERE} --dry-run"),
        Step(f"acls import acls.yaml {WHERE}"),
        Step(f"acls import acls.yaml {WHERE}"),
        Step(f"acls apply topics.yaml {WHERE} --yes"),
        Step(f"acls remove {WHERE} --topic other --force"),
        Step(f"acls list {WHERE}"),
        Step(f"acls explain {WHERE} {QUESTION}"),
        Step("acls explain acls.yaml --principal User:bob --operation Read --topic orders"),
        Step(
            "acls explain acls.yaml --principal User:bbo --operation Read --topic orders"
            " --with User:bob,TOPIC,LITERAL,orders,READ,ALLOW,*"
        ),
        Step(f"acls explain {WHERE} {QUESTION} --resource-pattern-type prefixed"),
        Step(f"acls who-can {WHERE} --operation Read --topic orders"),
        Step(f"acls who-can {WHERE} --operation Read --topic ord --resource-pattern-type prefixed"),
        Step(f"acls who-can {WHERE} --task consume --topic orders --group g"),
        Step(f"acls what-can {WHERE} --principal User:alice"),
        Step(f"acls what-can {WHERE} --principal User:alice --topic orders"),
        Step(f"acls lint {WHERE}", 1),
        Step("acls assert rules.yaml acls.yaml", 3),
        Step(f"acls export {WHERE}"),
        Step("acls render acls.yaml topics.yaml"),
        Step(f"acls diff acls.yaml {WHERE}", 3),
        Step(f"acls diff acls.yaml {WHERE} --effective", 3),
        Step(f"acls plan topics.yaml {WHERE} --effective --assert rules.yaml --fail-on unowned", 1),
        Step(f"acls undo 1 {WHERE} --dry-run"),
        Step(f"acls undo {WHERE} --since '0 seconds ago' --dry-run"),
        Step("whoami acls.yaml --config server.properties --user alice"),
        Step(f"users add {WHERE} alice --password-file -", 0, "secret\n"),
        Step(f"users set-password {WHERE} alice --password-file -", 0, "secret\n"),
        Step(f"users list {WHERE}"),
        Step(f"users remove {WHERE} alice --mechanism SCRAM-SHA-256"),
        Step(f"history list {WHERE}"),
        Step(f"history show {WHERE} 1"),
        Step(f"history verify {WHERE}"),
        Step(f"watch {WHERE} --since 0 --limit 1"),
        Step(f"clusters status {WHERE}", 3),
        Step(f"clusters drift {WHERE}", 3),
        Step(f"clusters adopt {WHERE}"),
        Step("learn --log kafka-authorizer.log --allow-wider --acls acls.yaml"),
        Step("audit verify audit"),
        Step("config check server.properties"),
        Step("config check --broker broker.properties", 1),
        Step("config show server.properties"),
        Step(f"config reset {WHERE} --all"),
        Step(f"store backup {WHERE} acls.backup"),
        Step(f"store check {WHERE}"),
        Step(f"store release {WHERE}"),
        Step(f"store release {WHERE} 4.3 --yes"),
        Step(f"store restore {WHERE} acls.backup --yes"),
        Step(f"store accept {WHERE}"),
        Step(f"store copy {WHERE} store:copy"),
        Step("store create store:empty"),
        Step("examples list"),
        Step("examples list learn"),
        Step("examples copy learn learn"),
        Step("users-file set-password users.txt alice --password-file -", 0, "secret\n"),
        Step("users-file list users.txt"),
        Step("users-file remove users.txt alice"),
    ],
    "doorkeeper-pipeline": [
        Step("run --log kafka-authorizer.log --acls cleanup.csv --tables tables --engine local"),
        Step("backtest --tables tables --proposal acls.yaml --engine local", 1),
        Step("propose --tables tables --engine local --accept-lost-access"),
        Step("why --tables tables --principal User:shop --engine local"),
        Step("report --tables tables --out report.html --ocsf events.jsonl"),
        Step("report --tables tables --ocsf events.jsonl"),
        Step("maintain --tables tables --keep 10000 --engine local"),
    ],
}
"""Commands on one folder, in this order."""

ACLS: Final = """\
version: 1
acls:
  - resourceType: TOPIC
    name: ord
    patternType: PREFIXED
    principal: User:bob
    operation: [READ, WRITE]
  - resourceType: TOPIC
    name: orders
    principal: User:bob
    operation: READ
    permissionType: DENY
  - resourceType: TOPIC
    name: orders
    principal: User:carol
    operation: READ
    host: 10.0.0.7
  - resourceType: GROUP
    name: g
    principal: User:*
    operation: ALL
"""
TOPICS: Final = """\
version: 1
owns: [{principals: ["User:dave"]}, {topics: ["made"]}]
topics: [{name: made, partitions: 1}]
acls:
  - {resourceType: TOPIC, name: made, principal: "User:dave", operation: READ}
"""
RULES: Final = """\
version: 1
rules:
  - rule: never
    principal: User:bob
    operation: WRITE
    resourceType: TOPIC
    name: orders
"""
SERVER: Final = """\
listeners=SASL_PLAINTEXT://localhost:0
sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-256
security.inter.broker.protocol=SASL_PLAINTEXT
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin
doorkeeper.data.dir=data
doorkeeper.audit.dir=audit
doorkeeper.clusters.file=clusters.yaml
"""


def prepare(folder: Path, bootstrap_servers: str) -> None:
    """Write the files that the steps name."""
    texts = {"acls.yaml": ACLS, "topics.yaml": TOPICS, "rules.yaml": RULES}
    texts |= {"server.properties": SERVER, "broker.properties": "super.users=alice\n"}
    entry = cluster("a", bootstrap_servers, scope={"prefixes": ["ord"]})
    texts["clusters.yaml"] = json.dumps({"clusters": [entry]})
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, source in (
        ("kafka-authorizer.log", "cleanup/kafka-authorizer.log"),
        ("cleanup.csv", "cleanup/acls.csv"),
    ):
        (folder / name).write_bytes((EXAMPLES / source).read_bytes())


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Result]:
    """Call each command; return the results by the words."""
    folder = tmp_path_factory.mktemp("json")
    called = {}
    with target() as server, chdir(folder):
        prepare(folder, server.bootstrap_servers)
        for program, steps in STEPS.items():
            for number, step in enumerate(steps):
                words = [*shlex.split(step.words), "--output", "json"]
                if program == "doorkeeper-pipeline" and "report" not in words:
                    words.append("--quiet")
                called[f"{program} {step.words} #{number}"] = CliRunner().invoke(
                    PROGRAMS[program], words, input=step.typed
                )
    return called


def command_of(words: str) -> str:
    """Return the command that a line calls: the longest name."""
    return max((name for name in NAMES if words.startswith(f"{name} ")), key=len)


@cache
def schema_by(name: str) -> dict[str, Any]:
    """Return the schema of a command's object."""
    schema = schema_of(records_of(dict(commands())[name]))
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


NAMES: Final = [name for name, _ in commands()]
CALLS: Final = [
    (f"{program} {step.words} #{number}", step.status)
    for program, steps in STEPS.items()
    for number, step in enumerate(steps)
]


@pytest.mark.parametrize(("words", "status"), CALLS)
def test_the_output_is_as_documented(
    results: Mapping[str, Result], words: str, status: int
) -> None:
    """One object, with the members of the schema and no others."""
    result = results[words]
    assert result.exit_code == status, (result.output, result.exception)

    schema = schema_by(command_of(words))
    jsonschema.validate(json.loads(result.stdout), schema, jsonschema.Draft202012Validator)


def test_every_command_has_json() -> None:
    """Or stands in the list of those that have no result; each is called above."""
    leaves = {
        words: command for words, command in commands() if not isinstance(command, click.Group)
    }
    silent = {words for words, command in leaves.items() if not records_of(command)}
    called = {command_of(words) for words, _ in CALLS}

    assert silent == set(WITHOUT)
    assert called == leaves.keys() - WITHOUT.keys()


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("acls apply acls.yaml store:data", "--yes"),
        ("acls undo 1 store:data", "--yes"),
        ("acls remove store:data --topic a", "--force"),
        ("store restore store:data acls.backup", "--yes"),
        ("store release store:data 4.3", "--yes"),
    ],
)
def test_json_asks_no_question(tmp_path: Path, words: str, option: str) -> None:
    """The answer would be about what the output does not show."""
    (tmp_path / "acls.yaml").write_text(ACLS, encoding="utf-8")
    with chdir(tmp_path):
        result = CliRunner().invoke(PROGRAMS["doorkeeper"], [*words.split(), "--output", "json"])

    assert result.exit_code == 2
    assert f"--output json asks no question: give {option}" in result.stderr
