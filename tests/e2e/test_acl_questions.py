"""Questions about ACLs: to a server that runs, to its store, in pipes and on terminals."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from testkit.e2e import STANDARD, acls, configured
from testkit.frame_steps import PREFIXED, create, creation
from testkit.load import scaled
from testkit.serving import Serving

QUESTION = ("explain", "--principal", "User:alice", "--operation", "Describe", "--topic", "orders")
HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    """Give a server with one ACL, and its file in the same folder."""
    text = "listeners=PLAINTEXT://localhost:0\ndoorkeeper.data.dir=data\n"
    with configured(tmp_path, f"{text}{STANDARD}super.users=User:ANONYMOUS;User:root\n") as running:
        with running.connect() as conversation:
            request = create(creation(resource_name="ord", resource_pattern_type=PREFIXED)).request
            answer = conversation.call(request, CreateAclsResponse, 3)
            assert [row.error_code for row in answer.results] == [0]
        yield running


def follow(folder: Path, command: str) -> None:
    """Run a command as it was printed."""
    program = f"{sys.executable} -m doorkeeper"
    line = command.replace("doorkeeper", program, 1)
    subprocess.run(line, shell=True, cwd=folder, check=True, timeout=scaled(60))


def test_server_and_store_give_one_answer(server: Serving, tmp_path: Path) -> None:
    live = (f"kafka://localhost:{server.port()}",)
    store = ("config:server.properties",)
    answers: dict[str, Any] = {}
    for name, source in (
        ("live", live),
        ("store", store),
        ("both", (*live, "--config", "server.properties")),
    ):
        status, text, said = acls(tmp_path, *QUESTION, *source, "--output", "json")
        assert (status, said) == (0, ""), name
        answers[name] = answer = json.loads(text)
        assert (answer["allowed"], answer["rule"], answer["acls"]) == (True, "MatchingAcl", 1)
    assert answers["live"]["policy"]["superUsersFrom"] == "not known"
    for name in ("store", "both"):
        assert answers[name]["policy"]["superUsers"] == ["User:ANONYMOUS", "User:root"]


@pytest.mark.parametrize("runs", [True, False])
def test_printed_command_reverses_the_answer(
    server: Serving, tmp_path: Path, *, runs: bool
) -> None:
    source = (f"kafka://localhost:{server.port()}",)
    if not runs:
        source = ("config:server.properties",)
        assert server.stop() == 0
    question = (*QUESTION, *source, "--exit-status")
    status, text, _ = acls(tmp_path, *question, "--output", "json")
    assert status == 0
    flip = json.loads(text)["flip"]
    if runs:
        assert f"--bootstrap-server localhost:{server.port()} " in flip["kafkaAcls"][0]
    else:
        assert " --force config:server.properties " in flip["doorkeeper"][0]
    follow(tmp_path, flip["doorkeeper"][0])
    assert acls(tmp_path, *question)[0] == 3


def test_unrepresentable_acl_is_changed_by_a_plan(server: Serving, tmp_path: Path) -> None:
    place = "config:server.properties"
    prefixed, literal = (
        f"User:alice,CLUSTER,{how},kafka-cluster" for how in ("PREFIXED", "LITERAL")
    )
    rows = f"{HEADER}\n{prefixed},ALTER,ALLOW,*\n{literal},CREATE,ALLOW,*\n"
    (tmp_path / "cluster.csv").write_text(rows)
    assert server.stop() == 0
    assert acls(tmp_path, "import", "cluster.csv", place)[0] == 0
    question = ("explain", "--principal", "User:alice", "--operation", "Alter", "--cluster")
    flip = json.loads(acls(tmp_path, *question, place, "--output", "json")[1])["flip"]
    [command] = flip["doorkeeper"]
    follow(tmp_path, command)
    assert flip["kafkaAcls"] == []
    assert f" - {place}" in command
    assert acls(tmp_path, *question, place, "--exit-status")[0] == 3
    left = acls(tmp_path, "list", place, "--cluster", "--output", "table")[1]
    assert "CREATE" in left


def test_broken_pipe_gives_no_traceback(tmp_path: Path) -> None:
    rows = "".join(f"User:u{number},TOPIC,LITERAL,t,READ,ALLOW,*\n" for number in range(20_000))
    (tmp_path / "acls.csv").write_text(f"{HEADER}\n{rows}")
    words = ("acls", "who-can", "--operation", "Read", "--topic", "t", "acls.csv")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "doorkeeper", *words]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
