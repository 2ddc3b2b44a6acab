"""The options of ``doorkeeper learn``, and the forms of its output."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.acl.decision import Question
from doorkeeper.acl.formats.choosing import Format, read, write
from doorkeeper.acl.model import ResourceType
from doorkeeper.acl.recorded_access import NeededAcl, RecordedAccess
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.learn.printing import lines_of
from testkit.acl import DESCRIBE, READ, WRITE, allow, topic

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.acl.model import AclOperation

FIRST = dt.datetime(2026, 11, 26, 12, 46, 6, tzinfo=dt.UTC)


def access(api: str, operation: AclOperation, uses: int) -> RecordedAccess:
    question = Question("User:svc", "127.0.0.1", operation, ResourceType.TOPIC, "orders")
    return RecordedAccess(question, api, allowed=True, reported=True, uses=uses, first=FIRST)


NEEDED = [
    NeededAcl(
        allow("svc", WRITE, topic("orders")),
        (access("Produce", WRITE, 1), access("Metadata", DESCRIBE, 3)),
    )
]
REASON = "# Produce: WRITE (1 time), Metadata: DESCRIBE (3 times); first at 2026-11-26T12:46:06Z"


def test_yaml_is_read_by_acls_plan() -> None:
    """Comments do not matter to a reader; without ACLs it is an empty set."""
    text = "\n".join(lines_of(NEEDED, "yaml"))

    assert REASON in text
    assert read(text, Format.YAML) == [NEEDED[0].binding]
    assert read("\n".join(lines_of([], "yaml")), Format.YAML) == []


def test_a_principal_without_a_type_is_wrong_usage() -> None:
    """The message says what is expected."""
    result = CliRunner().invoke(doorkeeper, ["learn", "--principal", "svc", "--", "true"])

    assert result.exit_code == 2
    assert "'svc': expected is type:name, as User:svc" in result.output


def test_a_file_of_several_principals_needs_one_of_them(tmp_path: Path) -> None:
    """The message names them."""
    acls = tmp_path / "acls.yaml"
    both = [allow("a", READ, topic("t")), allow("b", READ, topic("t"))]
    acls.write_text(write(both, Format.YAML), encoding="utf-8")

    result = CliRunner().invoke(doorkeeper, ["learn", "--check", str(acls), "--", "true"])

    assert result.exit_code == 2
    assert (
        "ACLs of 2 principals: User:a, User:b; name one of them with --principal" in result.output
    )


LOG = """\
[2026-11-26 10:11:12,345] DEBUG Principal = User:svc is Allowed operation = WRITE from host = ::1\
 on resource = Topic:LITERAL:orders for request = Produce with resourceRefCount = 1 based on rule\
 SuperUser (kafka.authorizer.logger)
[2026-11-26 10:11:12,345] DEBUG Principal = User:other is Allowed operation = READ from host = ::1\
 on resource = Topic:LITERAL:orders for request = Fetch with resourceRefCount = 1 based on rule\
 SuperUser (kafka.authorizer.logger)
[2026-11-26 10:11:13,345] INFO Principal = User:svc is Denied operation = READ from host = ::1\
 on resource = Topic:LITERAL:orders for request = Fetch with resourceRefCount = 1 based on rule\
 DefaultDeny (kafka.authorizer.logger)
"""


def test_the_least_acls_of_a_log(tmp_path: Path) -> None:
    """Of several files, for one principal; refused requests are left out, and a note says so."""
    first, second = tmp_path / "kafka-authorizer.log.1", tmp_path / "kafka-authorizer.log"
    first.write_text(LOG, encoding="utf-8")
    second.write_text(LOG, encoding="utf-8")

    words = ["learn", "--principal", "User:svc", "--from", str(first), str(second)]
    result = CliRunner().invoke(doorkeeper, words)

    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        (
            "# Produce: WRITE (2 times); first at 2026-11-26T10:11:12Z\n"
            "User:svc,TOPIC,LITERAL,orders,WRITE,ALLOW,*\n"
        ),
        "doorkeeper: note: 2 refused requests in the log are left out\n",
    )


def test_the_acls_of_all_principals_of_a_log(tmp_path: Path) -> None:
    """Without --principal each has its own."""
    log = tmp_path / "kafka-authorizer.log"
    log.write_text(LOG, encoding="utf-8")

    result = CliRunner().invoke(doorkeeper, ["learn", "--output", "yaml", "--from", str(log)])

    assert read(result.stdout, Format.YAML) == [
        allow("other", READ, topic("orders")),
        allow("svc", WRITE, topic("orders")),
    ]


def test_a_log_that_is_none(tmp_path: Path) -> None:
    """It is an error of one line."""
    log = tmp_path / "readme.txt"
    log.write_text("hello\n", encoding="utf-8")

    result = CliRunner().invoke(doorkeeper, ["learn", "--from", str(log)])

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"doorkeeper: {log}:1: no record: expected is ")
    assert result.stderr.count("\n") == 1


def test_wrong_usage_of_logs(tmp_path: Path) -> None:
    """A command or a log is needed, and options of a command do not go with a log."""
    nothing = CliRunner().invoke(doorkeeper, ["learn"])
    both = CliRunner().invoke(doorkeeper, ["learn", "--check", "a", "--from", str(tmp_path / "b")])

    assert (nothing.exit_code, both.exit_code) == (2, 2)
    assert "expected is a COMMAND, or --from with a log" in nothing.output
    assert "--check and --catalog need a COMMAND; found --from" in both.output


def test_prefixes_are_marked_alternatives(tmp_path: Path) -> None:
    """They are comments in each form, so that the ACLs stay the least; names are explained."""
    log = tmp_path / "kafka-authorizer.log"
    lines = [
        LOG.splitlines()[0].replace("Topic:LITERAL:orders", resource).replace("WRITE", operation)
        for resource, operation in (
            ("Group:LITERAL:words", "READ"),
            ("Topic:LITERAL:words-counts-changelog", "WRITE"),
        )
    ]
    log.write_text("\n".join([*lines, ""]), encoding="utf-8")
    words = ["learn", "--generalize", "--from", str(log), "--output"]

    rows = CliRunner().invoke(doorkeeper, [*words, "rows"]).stdout.splitlines()
    yaml = CliRunner().invoke(doorkeeper, [*words, "yaml"]).stdout

    assert rows[1] == "# internal topic of the Streams application words"
    assert rows[2] == "User:svc,TOPIC,LITERAL,words-counts-changelog,WRITE,ALLOW,*"
    assert rows[-2:] == [
        (
            "# alternative to WRITE on words-counts-changelog: internal topic of the Streams"
            " application words"
        ),
        "#   User:svc,TOPIC,PREFIXED,words-,WRITE,ALLOW,*",
    ]
    assert [each.pattern.name for each in read(yaml, Format.YAML)] == [
        "words-counts-changelog",
        "words",
    ]
    assert "# alternative to" in yaml
