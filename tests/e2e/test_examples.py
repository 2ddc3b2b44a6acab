"""Each example in a real server, started by the very command that its header gives."""

from __future__ import annotations

import http.server
import json
import re
import shlex
import threading
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.metadata import MetadataResponse
from testkit.checkout import ROOT
from testkit.e2e import EVERYTHING, ended_well, refusal, topic_code, topic_request, until
from testkit.serving import Serving, creation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


EXAMPLES = ROOT / "examples" / "authorizers"


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


def test_policy_file_authorizer(tmp_path: Path) -> None:
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


def test_invalid_policy_file_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("- who: User:a\n  may: [FLY]\n  resource: topic t\n")
    line = refusal(serving(tmp_path, "policy_file", policy_file=str(file)))
    assert line.startswith(f"doorkeeper: {file}: rule 1 is wrong: 'FLY'")


class Policy(http.server.BaseHTTPRequestHandler):
    """Answers as the test says, and counts."""

    answer: bytes = b""
    asked: ClassVar[list[str]] = []

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
        asked: ClassVar[list[str]] = []

    server = http.server.HTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/allowed", Own
    server.shutdown()
    thread.join()
    server.server_close()


def test_http_policy_authorizer(tmp_path: Path, policy_server: tuple[str, type[Policy]]) -> None:
    url, policy = policy_server
    policy.answer = b'{"allowed": true}'
    with (
        serving(tmp_path, "http_policy", http_policy_url=url, http_policy_age_ms="400") as server,
        server.connect() as conversation,
    ):
        assert topic_code(conversation, "orders") == 3
        (question, *_) = policy.asked
        assert question.startswith("/allowed?principal=User%3AANONYMOUS&host=127.0.0.1&operation=D")

        policy.answer = b'{"allowed": "yes"}'
        until(lambda: topic_code(conversation, "orders") == 29)
        # The request waits as long as the thread asks again.
        policy.answer = b"no JSON"
        conversation.send(topic_request("bills"), 12)
        until(lambda: any("gives no answer" in line["event"] for line in server.lines))
        policy.answer = b'{"allowed": true}'
        assert conversation.answer(MetadataResponse, 12).topics[0].error_code == 3
        ended_well(server)


def test_recording_authorizer(tmp_path: Path) -> None:
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


def test_unwritable_recording_stops_the_start(tmp_path: Path) -> None:
    line = refusal(serving(tmp_path, "recorder", recorder_file="/no/such/folder/file"))
    assert line.startswith("doorkeeper: --override: recorder.file: ")
