"""The options of ``doorkeeper learn``, and the forms of its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.acls.formats.choosing import Format, read, write
from doorkeeper.cli.commands import doorkeeper
from testkit.acl import READ, allow, topic

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--principal svc -- true", "'svc': expected is type:name, as User:svc"),
        ("--bootstrap-server b:9092 --from x", "found --bootstrap-server and --from; allowed: one"),
        ("--from x --check y", "--check and --catalog need a COMMAND; found --from"),
        ("--bootstrap-server b:1 --catalog y", "for a server of its own; found --bootstrap-server"),
        ("--bootstrap-server b:65536 -- true", "'b:65536': expected is host:port"),
        ("", "expected is a COMMAND, or --from with a log"),
    ],
)
def test_what_does_not_belong_together_is_wrong_usage(words: str, said: str) -> None:
    """The message says what was found or what is expected; nothing is run."""
    result = CliRunner().invoke(doorkeeper, ["learn", *words.split()])

    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("\u2502", " ").split())


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


def test_a_log_that_is_none(tmp_path: Path) -> None:
    """It is an error of one line."""
    log = tmp_path / "readme.txt"
    log.write_text("hello\n", encoding="utf-8")

    result = CliRunner().invoke(doorkeeper, ["learn", "--from", str(log)])

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"doorkeeper: {log}:1: no record: expected is ")
    assert result.stderr.count("\n") == 1


def test_names_of_streams_in_a_log(tmp_path: Path) -> None:
    """In YAML that is read back, of all principals; what a prefix could stand for is a comment."""
    log = tmp_path / "kafka-authorizer.log"
    lines = LOG.splitlines(keepends=True)
    changelog = lines[0].replace("orders", "count-store-changelog")
    group = lines[0].replace("Topic:LITERAL:orders", "Group:LITERAL:count").replace("WRITE", "READ")
    log.write_text("".join([changelog, group, lines[1]]), encoding="utf-8")

    words = ["learn", "--output", "yaml", "--generalize", "--from", str(log)]
    found = CliRunner().invoke(doorkeeper, words).stdout

    assert {each.entry.principal for each in read(found)} == {"User:svc", "User:other"}
    assert "# internal topic of the Streams application count\n" in found
    assert "# alternative to WRITE on count-store-changelog: internal topic of the Str" in found
