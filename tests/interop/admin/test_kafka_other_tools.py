"""Kafka's tools and groups with members.

The expectations hold on Kafka 4.3.1, where a real consumer makes the group.
"""

from collections.abc import Callable

import pytest

from testkit.kafka_acl_rows import Acls, allow
from testkit.kafka_target import Target
from testkit.kafka_tools import Done, KafkaTools

Run = Callable[..., Done]
GROUPS = "kafka-consumer-groups"


@pytest.fixture
def run(tools: KafkaTools, target: Target) -> Run:
    """Run a tool against the open listener and require its exit status."""

    def command(tool: str, line: str, *, status: int = 0) -> Done:
        done = tools.run(tool, *line.split(), "--bootstrap-server", target.plain)
        assert done.status == status, done
        return done

    return command


def test_groups_are_listed(run: Run) -> None:
    """By state and type; a state without groups has none."""
    assert run(GROUPS, "--list").stdout.split() == ["payments"]
    for option, value in (("--state", "Stable"), ("--type", "Classic")):
        listed = run(GROUPS, f"--list {option}").stdout.split()
        assert listed == ["GROUP", option[2:].upper(), "payments", value]
    assert run(GROUPS, "--list --state Empty").stdout.split() == ["GROUP", "STATE"]


def test_group_is_described(run: Run, tools: KafkaTools, target: Target) -> None:
    described = "--describe --group payments"
    state = run(GROUPS, f"{described} --state").stdout.split("\n")
    assert state[2].split() == ["payments", target.plain, "(1)", "range", "Stable", "1"]

    line = run(GROUPS, f"{described} --members").stdout.split("\n")[2]
    group, member, *rest = line.split()
    assert (group, member[:9]) == ("payments", "reader-1-")
    assert rest == ["reader-1", "/127.0.0.1", "orders-reader", "2"]

    line = run(GROUPS, f"{described} --members --verbose").stdout.split("\n")[2]
    assert ("(0,1)" if tools.version == "3.9.1" else "orders:0,1") in line.split()


def test_groups_require_describe(
    tools: KafkaTools, target: Target, acls: Acls, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("client") / "client.properties"
    lines = (f"{key}={value}\n" for key, value in target.config("alice").items())
    file.write_text("".join(lines))
    login = ("--bootstrap-server", target.sasl, "--command-config", str(file))
    described = ("--describe", "--group", "payments", "--state")

    assert tools.run(GROUPS, *login, "--list").stdout.split() == []
    assert "GroupAuthorizationException" in tools.run(GROUPS, *login, *described).text
    acls.put(allow("User:alice", "DESCRIBE", "GROUP payments"))
    assert tools.run(GROUPS, *login, "--list").stdout.split() == ["payments"]
    assert "Stable" in tools.run(GROUPS, *login, *described).stdout
