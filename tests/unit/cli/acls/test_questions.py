"""``doorkeeper acls explain``, ``who-can`` and ``what-can``."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from doorkeeper.acls.model import AclOperation, ResourcePattern, ResourceType
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.schema.features import release_change
from doorkeeper.testing import DoorkeeperServer
from testkit.acl import LITERAL, READ, allow, topic
from testkit.stores import adding, fill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Run = Callable[..., Result]

DESCRIBE = AclOperation.DESCRIBE
CLUSTER = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", LITERAL)
NETWORKED = allow("a", READ, topic("t"), "10.0.0.0/8")
HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
READS = "User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*"
DENIED = "User:bob,TOPIC,LITERAL,orders,WRITE,DENY,10.0.0.1"
WRITES = "User:bob,TOPIC,PREFIXED,ord,WRITE,ALLOW,*"
ASSUMED = [
    "super.users: not known; super users may do everything (give them with --super-user)",
    "allow.everyone.if.no.acl.found: false (assumed)",
]
ALICE = "explain --principal User:alice --topic orders --operation"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a line on a file of three ACLs."""
    file = tmp_path / "acls.csv"
    file.write_text(f"{HEADER}\n{READS}\n{DENIED}\n{WRITES}\n")

    def invoke(line: str, *words: str) -> Result:
        return CliRunner().invoke(doorkeeper, ["acls", *line.split(), str(file), *words])

    return invoke


def parsed(result: Result) -> Any:
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_answer_lists_its_assumptions(run: Run, tmp_path: Path) -> None:
    result = run(f"{ALICE} Read")

    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "ALLOWED: User:alice may READ topic orders"
    assert lines[-3:] == [f"ACLs: 3, of {tmp_path / 'acls.csv'}", *ASSUMED]


def test_super_user_list_with_commas_is_noted(run: Run) -> None:
    """One line on stderr says what to write; the answer is Kafka's."""
    result = run(f"{ALICE} Write --super-user User:alice,User:bob")

    assert result.stdout.startswith("DENIED")
    assert "with semicolons: User:alice;User:bob" in result.stderr


def test_given_policy_is_used(run: Run) -> None:
    found = parsed(run(f"{ALICE} Write --output json --super-user User:alice"))
    assert (found["allowed"], found["rule"]) == (True, "SuperUser")
    assert found["policy"]["superUsersFrom"] == "--super-user"
    found = parsed(run("explain --principal User:c --operation Read --topic x --output json "
                       "--allow-everyone"))  # fmt: skip
    assert (found["allowed"], found["rule"]) == (True, "DefaultAllow")
    assert found["flip"]["sideEffects"] != []


def test_exit_status_3_for_denied_on_request(run: Run) -> None:
    """3, so that it is no failure; otherwise an answer is an answer."""
    assert run(f"{ALICE} Write").exit_code == 0
    assert run(f"{ALICE} Write --exit-status").exit_code == 3
    assert run(f"{ALICE} Read --exit-status").exit_code == 0


def test_with_and_without_change_the_answer(run: Run, tmp_path: Path) -> None:
    before = (tmp_path / "acls.csv").read_bytes()
    (tmp_path / "more.csv").write_text(f"{HEADER}\n{READS.replace('READ', 'WRITE')}\n")
    file = str(tmp_path / "more.csv")

    result = run(f"{ALICE} Write --exit-status", "--with", file)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:3] == [
        "before: User:alice may not WRITE topic orders",
        "after:",
        "ALLOWED: User:alice may WRITE topic orders",
    ]
    found = parsed(run(f"{ALICE} Read --output json", "--without", READS))
    assert (found["before"]["allowed"], found["allowed"]) == (True, False)
    assert found["acls"] == 3
    both = run(f"{ALICE} Write --exit-status", "--with", file, "--without", file)
    assert both.exit_code == 0
    assert (tmp_path / "acls.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("none.csv", "none.csv: No such file"),
        (
            "User:a,TOPIC,LITERAL,t,READ",
            "not a file, and not a row: found 5 fields; expected: 7; the columns are Kafka",
        ),
    ],
)
def test_invalid_row_or_file_is_rejected(run: Run, word: str, text: str) -> None:
    """The status is 1."""
    result = run(f"{ALICE} Read", "--with", word)

    assert (result.exit_code, result.stdout) == (1, "")
    assert text in result.stderr


def test_who_can(run: Run) -> None:
    """Each with the addresses; a super user is marked."""
    result = run("who-can --operation Write --topic orders --super-user User:root")

    assert result.stdout.splitlines()[:2] == [
        "User:bob  from all hosts except 10.0.0.1",
        "User:root  from all hosts  (super user)",
    ]
    found = parsed(run("who-can --operation Write --topic orders --output json"))
    assert found["who"] == [
        {
            "principal": "User:bob",
            "everywhere": True,
            "hosts": [],
            "notFrom": ["10.0.0.1"],
            "superUser": False,
            "allowed": True,
            "rule": "MatchingAcl",
            "binding": found["who"][0]["binding"],
        }
    ]
    assert found["who"][0]["binding"]["principal"] == "User:bob"
    assert run("who-can --operation Alter --cluster").stdout.startswith("none\n")


def test_hosts_are_escaped(tmp_path: Path) -> None:
    """A host is any text, and no line of another principal comes of it."""
    file = tmp_path / "a.json"
    host = "fe80:0:0:0:0:0:0:1%x\x1b[31m\nUser:b  from all hosts"
    words = ("resourceType", "name", "patternType", "principal", "host", "operation")
    values = ("TOPIC", "orders", "LITERAL", "User:a", host, "READ")
    record = {**dict(zip(words, values, strict=True)), "permissionType": "ALLOW"}
    file.write_text(json.dumps({"version": 1, "acls": [record]}))
    line = ["acls", "who-can", "--operation", "Read", "--topic", "orders", str(file)]

    result = CliRunner().invoke(doorkeeper, line)

    first = "User:a  from fe80:0:0:0:0:0:0:1%x\\x1b[31m\\nUser:b  from all hosts"
    assert result.stdout.splitlines()[:2] == [first, ""]


def test_what_can(run: Run) -> None:
    """Pattern by pattern, from all hosts or from one."""
    result = run("what-can --principal User:bob")
    assert result.stdout.splitlines() == [
        "TOPIC PREFIXED ord  WRITE, DESCRIBE",
        "TOPIC LITERAL orders  DESCRIBE; from some hosts only: WRITE",
        "",
        "permissions of User:bob",
        "note: for the hosts of an operation, use doorkeeper acls who-can",
        *result.stdout.splitlines()[-3:],
    ]
    result = run("what-can --principal User:bob --host 10.0.0.1")
    assert "TOPIC LITERAL orders  DESCRIBE\n" in result.stdout
    assert "permissions of User:bob from 10.0.0.1" in result.stdout
    found = parsed(run("what-can --principal User:bob --output json --resource-type topic"))
    assert found["can"][1] == {
        "resourceType": "TOPIC",
        "name": "orders",
        "patternType": "LITERAL",
        "operations": ["DESCRIBE"],
        "sometimes": ["WRITE"],
        "denied": ["WRITE"],
    }
    nothing = run("what-can --principal User:* --resource-type transactional-id")
    assert nothing.stdout.startswith("none\n\npermissions of all principals that no ACL names\n")


def test_release_decides_whether_networks_match(tmp_path: Path) -> None:
    """By default the newest for files, and that of a store; --kafka overrides both."""
    (tmp_path / "acls.csv").write_text(
        f"{HEADER}\nUser:a,TOPIC,LITERAL,t,READ,ALLOW,10.0.0.0/8\n"
        "User:a,TOPIC,LITERAL,t,READ,DENY,10.3.0.0/16\n"
    )
    change = {**release_change("4.3"), **edit(ACL, set=[StoredBinding("a" * 22, NETWORKED)])}
    asyncio.run(fill(tmp_path / "data", change))

    def lines(source: str, *words: str) -> list[str]:
        line = ["acls", "who-can", "--operation", "Read", "--topic", "t", source, *words]
        return CliRunner().invoke(doorkeeper, line).stdout.splitlines()

    file, store = str(tmp_path / "acls.csv"), f"store:{tmp_path / 'data'}"
    newest = "networks as hosts: by the rules of Kafka 4.4"
    assert lines(file)[0] == "User:a  from 10.0.0.0/8 except 10.3.0.0/16"
    assert lines(file)[-1] == newest
    assert lines(file, "--kafka", "4.3")[0] == "none"
    assert lines(store)[-1] == newest.replace("4.4", "4.3")
    assert lines(store, "--kafka", "4.4")[-1] == newest


def test_custom_authorizer_is_noted(tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path / "data", adding(3)))
    line = ["acls", *f"{ALICE} Read".split(), f"store:{tmp_path / 'data'}"]
    plugin = ["--override", "authorizer.class.name=testkit.plugins.InMemory"]

    result = CliRunner().invoke(doorkeeper, [*line, *plugin])

    assert result.exit_code == 0
    assert "note: the server's authorizer is testkit.plugins.InMemory;" in result.stdout


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (
            "pii-*",
            "; for all names that begin with pii-: --topic pii- --resource-pattern-type pref",
        ),
        ("*", "'*' contains one or more characters other than"),
        ("..", "'..' is not allowed"),
        ("a b", "'a b' contains one or more characters other than"),
        ("x" * 250, "is longer than the max allowed length 249"),
    ],
)
@pytest.mark.parametrize(
    "question",
    ["who-can --operation Read", "explain --principal User:a --task consume", "what-can"],
)
def test_invalid_topic_names_are_rejected(run: Run, question: str, name: str, hint: str) -> None:
    who = ("--principal", "User:a") if question == "what-can" else ()

    result = run(question, *who, "--topic", name)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: --topic: no topic can have this name: " in result.stderr
    assert hint in result.stderr


def test_group_names_and_prefixes_are_not_restricted(run: Run) -> None:
    assert run("who-can --operation Read", "--group", "a *").exit_code == 0
    prefixed = ("--resource-pattern-type", "prefixed")
    assert run("who-can --operation Read --topic .", *prefixed).exit_code == 0
    assert run("who-can --operation Read --topic a*", *prefixed).exit_code == 2


def test_name_that_looks_like_a_prefix_is_noted(run: Run) -> None:
    note = "note: the answer is for the name 'ord-' only; for all names that begin with it, add"

    assert note in run("who-can --operation Read --topic ord-").stderr
    assert run("who-can --operation Read --topic orders").stderr == ""


def test_unknown_super_users_are_null(run: Run) -> None:
    found = parsed(run(f"{ALICE} Read --output json"))

    assert found["policy"] == {
        "superUsers": None,
        "superUsersFrom": "not known",
        "allowEveryone": False,
        "allowEveryoneFrom": "assumed",
    }


def test_login_allowed_without_acl_is_a_super_user() -> None:
    properties = {"allow.everyone.if.no.acl.found": "true"}
    question = ("--operation", "Read", "--topic", "orders", "--output", "json")
    asking = allow("ANONYMOUS", DESCRIBE, CLUSTER)

    def note_of(server: DoorkeeperServer) -> str | None:
        words = ["acls", "who-can", f"kafka://{server.bootstrap_servers}", *question]
        note: str | None = json.loads(CliRunner().invoke(doorkeeper, words).stdout)["note"]
        return note

    with DoorkeeperServer(super_users=["User:ANONYMOUS"], properties=properties) as server:
        unsure = note_of(server)
        server.add_acls([allow("bob", DESCRIBE, CLUSTER)])
        sure = note_of(server)
        server.add_acls([asking])
        allowed = note_of(server)

    text = "User:ANONYMOUS may describe the ACLs although no ACL allows it, so it is a super user"
    other = ", or the authorizer does not decide by ACLs alone"
    assert unsure == f"{text}, allow.everyone.if.no.acl.found is true{other}"
    assert (sure, allowed) == (f"{text}{other}", None)
