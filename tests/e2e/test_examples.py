"""Each example in a real server, started by the very command that its header gives."""

from __future__ import annotations

import http.server
import json
import re
import shlex
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from testkit.checkout import ROOT
from testkit.serving import Serving, creation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from testkit.serving import Conversation

EXAMPLES = ROOT / "examples" / "authorizers"
EVERYTHING = DescribeAclsRequest(
    resource_type_filter=1,
    resource_name_filter=None,
    pattern_type_filter=1,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)
COMING_S = 20


def serving(folder: Path, example: str, **changed: str) -> Serving:
    """Start what the header of an example says, in a folder, with some values changed."""
    path, settings = commanded((EXAMPLES / f"{example}.py").read_text(encoding="utf-8"))[0]
    settings |= {"listeners": "PLAINTEXT://localhost:0"}
    settings |= {key.replace("_", "."): value for key, value in changed.items()}
    options = [word for k, v in settings.items() for word in ("--override", f"{k}={v}")]
    return Serving(folder, *options, environment={"PYTHONPATH": str(ROOT / path)})


def commanded(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the PYTHONPATH and the settings of each command in a text that starts a server."""
    pattern = r"PYTHONPATH=(\S+) (?:\.venv/bin/)?python -m doorkeeper serve (.*?)\n(?:\n|```)"
    commands = []
    for path, rest in re.findall(pattern, text, re.DOTALL):
        words = shlex.split(rest.replace("\\\n", " "))
        commands.append((path, dict(word.split("=", 1) for word in words if word != "--override")))
    assert commands
    return commands


def topic_code(conversation: Conversation, name: str) -> int:
    """Return the code that Metadata has for a topic: 29 refused, 3 allowed but unknown."""
    request = MetadataRequest(
        topics=(MetadataRequestTopic(name=name),), allow_auto_topic_creation=False
    )
    code: int = conversation.call(request, MetadataResponse, 12).topics[0].error_code
    return code


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + COMING_S
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def ended_well(server: Serving) -> None:
    """Stop it: status 0, and none of the example's threads is left."""
    assert server.stop() == 0
    assert not server.of("threads outlive the authorizer")
    assert server.errors() == ""


def test_the_page_has_their_commands() -> None:
    """Each of the three, as the example's own header has it."""
    headers = [
        command
        for name in ("policy_file", "http_policy", "recorder")
        for command in commanded((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    ]

    page = ROOT / "docs" / "how-to" / "writing-an-authorizer.md"
    assert commanded(page.read_text(encoding="utf-8")) == headers


def test_the_policy_file(tmp_path: Path) -> None:
    """Rules are listed as ACLs, cannot be changed by clients, and are read again when changed."""
    policy = tmp_path / "policy.yaml"
    policy.write_bytes((EXAMPLES / "policy.yaml").read_bytes())
    changed = {"policy_file": str(policy), "policy_file_check_ms": "20"}
    with (
        serving(tmp_path, "policy_file", **changed) as server,
        server.connect() as conversation,
    ):
        listed = conversation.call(EVERYTHING, DescribeAclsResponse, 3)
        assert {(r.resource_name, r.pattern_type) for r in listed.resources} == {
            ("kafka-cluster", 3),
            ("orders-", 4),
            ("*", 3),
        }
        refused = conversation.call(creation("User:a"), CreateAclsResponse, 3).results
        assert [(row.error_code, row.error_message) for row in refused] == [
            (44, f"The rules stand in {policy}.")
        ]
        assert (topic_code(conversation, "orders-eu"), topic_code(conversation, "bills")) == (3, 29)

        policy.write_text("- who: nobody\n  may: [READ]\n  resource: topic bills\n")
        until(lambda: any("stay as they were" in line["event"] for line in server.lines))
        assert topic_code(conversation, "orders-eu") == 3

        policy.write_text("- who: User:ANONYMOUS\n  may: [READ]\n  resource: topic bills\n")
        until(lambda: topic_code(conversation, "bills") == 3)
        assert topic_code(conversation, "orders-eu") == 29
        ended_well(server)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file or directory"),
        ("- who: User:a\n  may: [FLY]\n  resource: topic t\n", "rule 1 is wrong: 'FLY'"),
        ("- who: User:a\n  resource: topic t\n- 7\n", "rule 2 is wrong: "),
        ("7", "found no list of rules"),
        ("a: [", "while parsing"),
    ],
)
def test_a_policy_file_that_is_wrong_stops_the_start(
    tmp_path: Path, text: str | None, said: str
) -> None:
    """One line, which names the file."""
    file = tmp_path / "wrong.yaml"
    if text is not None:
        file.write_text(text)
    with serving(tmp_path, "policy_file", policy_file=str(file)) as server:
        assert server.process.wait(30) == 1
        (line,) = server.errors().splitlines()

    assert line.startswith(f"doorkeeper: {file}: ")
    assert said in line


class Policy(http.server.BaseHTTPRequestHandler):
    """Answers as the test says, and counts."""

    answer: bytes = b""
    asked: list[str] = []  # noqa: RUF012  the test reads it

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""


@pytest.fixture
def policy_server() -> Iterator[tuple[str, type[Policy]]]:
    class Own(Policy):
        asked: list[str] = []  # noqa: RUF012  as above

    server = http.server.HTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/allowed", Own
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_http_policy(tmp_path: Path, policy_server: tuple[str, type[Policy]]) -> None:
    """Unknown is denied and asked for; then it counts, for its time only; a bad answer is a no."""
    url, policy = policy_server
    policy.answer = b'{"allowed": true}'
    with (
        serving(tmp_path, "http_policy", http_policy_url=url, http_policy_age_ms="400") as server,
        server.connect() as conversation,
    ):
        assert topic_code(conversation, "orders") == 29
        until(lambda: topic_code(conversation, "orders") == 3)
        (question, *_) = policy.asked
        assert question.startswith("/allowed?principal=User%3AANONYMOUS&host=127.0.0.1&operation=D")

        policy.answer = b'{"allowed": "yes"}'
        until(lambda: topic_code(conversation, "orders") == 29)
        policy.answer = b"no JSON"
        assert topic_code(conversation, "bills") == 29
        until(lambda: any("gives no answer" in line["event"] for line in server.lines))
        ended_well(server)


def test_the_http_policy_without_its_server(tmp_path: Path) -> None:
    """Everything is denied, nothing waits, and it ends at once."""
    gone = "http://127.0.0.1:1/allowed"
    with (
        serving(tmp_path, "http_policy", http_policy_url=gone) as server,
        server.connect() as conversation,
    ):
        assert [topic_code(conversation, "orders") for _ in range(3)] == [29] * 3
        ended_well(server)


def test_the_sample_policy_server(tmp_path: Path) -> None:
    """The second command of the header is a policy server that allows ANONYMOUS everything."""
    import subprocess  # noqa: PLC0415

    from testkit.kafka_broker import free_port, wait_for_port  # noqa: PLC0415

    port = free_port()
    log = tmp_path / "log"
    with log.open("wb") as output:
        sample = subprocess.Popen(
            [sys.executable, EXAMPLES / "http_policy.py", str(port)], stdout=output, stderr=output
        )
    try:
        wait_for_port(port, sample, log)
        url = f"http://localhost:{port}/allowed"
        with (
            serving(tmp_path, "http_policy", http_policy_url=url) as server,
            server.connect() as conversation,
        ):
            until(lambda: topic_code(conversation, "orders") == 3)
            ended_well(server)
    finally:
        sample.kill()
        sample.wait()


def test_the_recorder(tmp_path: Path) -> None:
    """What it wraps decides and keeps ACLs in the store; each decision is a line."""
    with serving(tmp_path, "recorder") as server, server.connect() as conversation:
        created = conversation.call(creation("User:alice"), CreateAclsResponse, 3)
        assert [row.error_code for row in created.results] == [0]
        ended_well(server)

    with serving(tmp_path, "recorder") as server, server.connect() as conversation:
        assert server.line("started")["acls"] == 1
        assert len(conversation.call(EVERYTHING, DescribeAclsResponse, 3).resources) == 1
        ended_well(server)

    lines = (tmp_path / "decisions.jsonl").read_text().splitlines()
    assert [json.loads(line)["operation"] for line in lines] == ["ALTER", "DESCRIBE"]
    assert json.loads(lines[0]) == {
        "principal": "User:ANONYMOUS",
        "host": "127.0.0.1",
        "operation": "ALTER",
        "type": "CLUSTER",
        "name": "kafka-cluster",
        "result": "ALLOWED",
    }


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"recorder_file": "/no/such/folder/file"}, "recorder.file: "),
        ({"recorder_wraps": "nobody"}, "recorder.wraps: authorizer.class.name=nobody: "),
    ],
)
def test_a_recorder_that_cannot_record_stops_the_start(
    tmp_path: Path, changed: dict[str, str], said: str
) -> None:
    """One line, which names the key."""
    with serving(tmp_path, "recorder", **changed) as server:
        assert server.process.wait(30) == 1
        (line,) = server.errors().splitlines()

    assert line.startswith(f"doorkeeper: --override: {said}")
