"""The options of ``doorkeeper learn``, and the forms of its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.acls.formats.choosing import Format, read, write
from doorkeeper.acls.model import AclOperation
from doorkeeper.cli.commands import doorkeeper
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, topic

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from doorkeeper.acls.model import AclBinding


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--principal svc -- true", "'svc': expected: type:name, such as User:svc"),
        (
            "--log x --check y",
            "--check and --topics require a COMMAND and cannot be combined with --log",
        ),
        ("", "expected a COMMAND, or --log FILE"),
        ("--check a --acls b -- true", "--check and --acls cannot be combined"),
        ("--allow-wider -- true", "--allow-wider and --command-config require --acls"),
    ],
)
def test_conflicting_options_are_rejected(words: str, said: str) -> None:
    result = CliRunner().invoke(doorkeeper, ["learn", *words.split()])

    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("\u2502", " ").split())


def test_file_with_several_principals_requires_principal_option(tmp_path: Path) -> None:
    acls = tmp_path / "acls.yaml"
    both = [allow("a", READ, topic("t")), allow("b", READ, topic("t"))]
    acls.write_text(write(both, Format.YAML), encoding="utf-8")

    result = CliRunner().invoke(doorkeeper, ["learn", "--check", str(acls), "--", "true"])

    assert result.exit_code == 2
    assert "ACLs of 2 principals: User:a, User:b; select one with --principal" in result.output


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


def test_minimal_acls_from_logs(tmp_path: Path) -> None:
    first, second = tmp_path / "kafka-authorizer.log.1", tmp_path / "kafka-authorizer.log"
    first.write_text(LOG, encoding="utf-8")
    second.write_text(LOG, encoding="utf-8")

    words = ["learn", "--principal", "User:svc", "--log", str(first), str(second)]
    result = CliRunner().invoke(doorkeeper, words)

    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        (
            "# Produce: WRITE (2 times); first at"
            " 2026-11-26T10:11:12Z\nUser:svc,TOPIC,LITERAL,orders,WRITE,ALLOW,*\n"
        ),
        (
            "doorkeeper: note: without --acls, these ACLs were not compared with the"
            " current ones\ndoorkeeper: note: 2 denied requests in the log are omitted\n"
        ),
    )


def test_optional_requests_alone_are_noted(tmp_path: Path) -> None:
    """An application that lists topics gets a shorter list without an ACL, and no error."""
    log = tmp_path / "kafka-authorizer.log"
    lines = LOG.replace("WRITE", "DESCRIBE").replace("Produce", "Metadata")
    log.write_text(lines.replace("Topic:LITERAL:orders", "Group:LITERAL:g"), encoding="utf-8")
    text = log.read_text(encoding="utf-8").replace(
        "for request = Metadata", "for request = ListGroups"
    )
    log.write_text(text, encoding="utf-8")

    words = ["learn", "--principal", "User:svc", "--log", str(log)]
    found = CliRunner().invoke(doorkeeper, words)
    optional = CliRunner().invoke(doorkeeper, [*words, "--include-optional"])

    assert found.exit_code == 0
    assert "note: the refusal of these requests would only shorten responses" in found.output
    assert "User:svc,GROUP,LITERAL,g,DESCRIBE,ALLOW,*" in optional.output
    assert "note: the refusal" not in optional.output


def test_file_that_is_not_a_log_is_rejected(tmp_path: Path) -> None:
    log = tmp_path / "readme.txt"
    log.write_text("hello\n", encoding="utf-8")

    result = CliRunner().invoke(doorkeeper, ["learn", "--log", str(log)])

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"doorkeeper: {log}:1: not a log record; expected: ")
    assert result.stderr.count("\n") == 1


def test_yaml_output_is_readable(tmp_path: Path) -> None:
    log = tmp_path / "kafka-authorizer.log"
    log.write_text(LOG, encoding="utf-8")

    text = CliRunner().invoke(doorkeeper, ["learn", "--output", "yaml", "--log", str(log)]).stdout

    assert {binding.entry.principal for binding in read(text)} == {"User:svc", "User:other"}


NEW = "User:svc  WRITE, DESCRIBE  topic orders"


def learned(folder: Path, present: list[AclBinding], *words: str) -> Result:
    """Return the result of learning what User:svc did in a log, with ACLs that are in force."""
    log, acls = folder / "kafka-authorizer.log", folder / "acls.csv"
    log.write_text(LOG, encoding="utf-8")
    acls.write_text(write(present, Format.CSV), encoding="utf-8")
    options = ["--principal", "User:svc", "--acls", str(acls), *words]
    return CliRunner().invoke(doorkeeper, ["learn", *options, "--log", str(log)])


def test_wider_acls_are_not_written(tmp_path: Path) -> None:
    target = tmp_path / "new.yaml"
    into = ("--output", "yaml", "--out", str(target))
    present = [allow("svc", READ, topic("orders"))]

    refused = learned(tmp_path, present, *into)

    assert (refused.exit_code, refused.stdout, refused.stderr) == (
        1,
        "",
        (
            "doorkeeper: these ACLs would newly allow 1 region of requests; to write them anyway,"
            " add --allow-wider\ndoorkeeper:   User:svc  WRITE  topic orders\n"
        ),
    )
    assert not target.exists()
    assert learned(tmp_path, present, *into, "--allow-wider").exit_code == 0
    text = target.read_text()
    assert text.startswith("# newly allows: User:svc  WRITE  topic orders\n")
    assert read(text) == [allow("svc", WRITE, topic("orders"))]


@pytest.mark.parametrize(
    ("present", "regions"),
    [
        ([], [NEW]),
        ([allow("svc", WRITE, topic("orders"))], []),
        ([allow("*", AclOperation.ALL, topic("ord", PREFIXED))], []),
        ([allow("svc", WRITE, topic("*"))], []),
        ([allow("svc", WRITE, topic("*", PREFIXED))], [NEW]),
        ([allow("other", WRITE, topic("orders"))], [NEW]),
        (
            [allow("svc", WRITE, topic("orders"), "10.0.0.1")],
            [f"{NEW}, from all hosts except 10.0.0.1"],
        ),
        ([deny("svc", WRITE, topic("orders"))], ["User:svc  DESCRIBE  topic orders"]),
        ([deny("*", AclOperation.ALL, topic("ord", PREFIXED))], []),
    ],
)
def test_newly_allowed_requests_are_regions(
    tmp_path: Path, present: list[AclBinding], regions: list[str]
) -> None:
    result = learned(tmp_path, present, "--allow-wider")

    assert result.exit_code == 0, result.stderr
    assert [
        line.removeprefix("# newly allows: ")
        for line in result.stdout.splitlines()
        if line.startswith("# newly allows: ")
    ] == regions
    assert (learned(tmp_path, present).exit_code == 1) is bool(regions)


def test_unreadable_acls_fail_before_the_command_runs(tmp_path: Path) -> None:
    started = tmp_path / "started"

    words = ["learn", "--acls", str(tmp_path / "none.csv"), "--", "touch", str(started)]
    result = CliRunner().invoke(doorkeeper, words)

    assert (result.exit_code, started.exists()) == (1, False)
    assert "none.csv: No such file or directory" in result.stderr


def test_files_that_are_passed_over_are_told(tmp_path: Path) -> None:
    folder, log = tmp_path / "acls", tmp_path / "kafka-authorizer.log"
    folder.mkdir()
    (folder / "a.csv").write_text(write([allow("svc", WRITE, topic("orders"))], Format.CSV))
    (folder / "b.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    log.write_text(LOG, encoding="utf-8")

    words = ["learn", "--principal", "User:svc", "--acls", str(folder), "--log", str(log)]
    found = CliRunner().invoke(doorkeeper, words)

    assert found.exit_code == 0
    assert "note: files of other tools without ACLs: 1" in found.stderr
