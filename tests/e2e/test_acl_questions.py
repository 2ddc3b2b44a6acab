"""Questions about ACLs: to a server that runs, to its store, in pipes and on terminals."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from testkit.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
QUESTION = ("explain", "--principal", "User:alice", "--operation", "Describe", "--topic", "orders")
HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
ROW = "User:alice,TOPIC,PREFIXED,ord,READ,ALLOW,*"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    """Give a server with one ACL, and its file beside it."""
    (tmp_path / "server.properties").write_text(
        f"listeners=PLAINTEXT://localhost:0\nauthorizer.class.name={STANDARD}\n"
        "doorkeeper.data.dir=data\nsuper.users=User:ANONYMOUS;User:root\n"
    )
    creation = AclCreation(
        resource_type=2,
        resource_name="ord",
        resource_pattern_type=4,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    with Serving(tmp_path, "--config", "server.properties") as running:
        with running.connect() as conversation:
            request = CreateAclsRequest(creations=(creation,))
            answer = conversation.call(request, CreateAclsResponse, 3)
            assert [row.error_code for row in answer.results] == [0]
        yield running


def acls(folder: Path, *words: str, **streams: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "doorkeeper", "acls", *words],
        cwd=folder,
        text=True,
        timeout=60,
        check=False,
        **{"capture_output": True} | streams,
    )


def test_the_server_and_its_store_give_one_answer(server: Serving, tmp_path: Path) -> None:
    """Over the wire the policy is assumed, or read from the file; in the store it is known."""
    live = ("--bootstrap-server", f"localhost:{server.port()}")
    store = ("--config", "server.properties")
    found = {}
    for name, source in (("live", live), ("store", store), ("both", (*live, *store))):
        done = acls(tmp_path, *QUESTION, *source, "--output", "json")
        assert (done.returncode, done.stderr) == (0, ""), name
        found[name] = json.loads(done.stdout)

    for answer in found.values():
        assert (answer["allowed"], answer["rule"], answer["acls"]) == (True, "MatchingAcl", 1)
        assert answer["considered"][0]["bearing"] == "IMPLIES"
    assert found["live"]["policy"]["superUsersFrom"] == "default"
    for name in ("store", "both"):
        assert found[name]["policy"]["superUsers"] == ["User:ANONYMOUS", "User:root"]
    assert (
        f"--bootstrap-server localhost:{server.port()} " in (found["live"]["flip"]["kafkaAcls"][0])
    )
    assert found["store"]["flip"]["doorkeeper"][0].startswith(
        "doorkeeper acls remove --force config:server.properties "
    )


@pytest.mark.parametrize("runs", [True, False])
def test_what_the_flip_says_turns_the_answer(
    server: Serving, tmp_path: Path, *, runs: bool
) -> None:
    """Our own command, run as it was printed: on a server that runs, or on its store."""
    source = ("--bootstrap-server", f"localhost:{server.port()}")
    if not runs:
        source = ("--config", "server.properties")
        assert server.stop() == 0
    question = (*QUESTION, *source, "--exit-status")
    before = acls(tmp_path, *question, "--output", "json")
    [command] = json.loads(before.stdout)["flip"]["doorkeeper"]

    changed = subprocess.run(
        command.replace("doorkeeper", f"{sys.executable} -m doorkeeper", 1),
        shell=True,
        cwd=tmp_path,
        check=True,
        timeout=60,
    )

    assert (before.returncode, changed.returncode) == (0, 0)
    assert acls(tmp_path, *question).returncode == 3


@pytest.mark.parametrize("runs", [True, False])
def test_an_acl_that_no_option_names_goes_by_a_plan(
    server: Serving, tmp_path: Path, *, runs: bool
) -> None:
    """What explain says of a prefix of the cluster, run as it was printed, takes that ACL away."""
    source, place = ("--bootstrap-server", f"localhost:{server.port()}"), "kafka://localhost:"
    prefixed, literal = (
        f"User:alice,CLUSTER,{how},kafka-cluster" for how in ("PREFIXED", "LITERAL")
    )
    given = f"{HEADER}\n{prefixed},ALTER,ALLOW,*\n{literal},CREATE,ALLOW,*\n"
    (tmp_path / "cluster.csv").write_text(given)
    assert acls(tmp_path, "import", "cluster.csv", f"{place}{server.port()}").returncode == 0
    if not runs:
        source, place = ("--config", "server.properties"), "config:server.properties"
        assert server.stop() == 0
    question = ("explain", "--principal", "User:alice", "--operation", "Alter", "--cluster")
    before = acls(tmp_path, *question, *source, "--output", "json")
    flip = json.loads(before.stdout)["flip"]
    [command] = flip["doorkeeper"]

    subprocess.run(
        command.replace("doorkeeper", f"{sys.executable} -m doorkeeper", 1),
        shell=True,
        cwd=tmp_path,
        check=True,
        timeout=60,
    )

    assert flip["kafkaAcls"] == []
    assert f" - {place}" in command
    assert acls(tmp_path, *question, *source, "--exit-status").returncode == 3
    left = acls(tmp_path, "list", *source, "--cluster", "--output", "table").stdout
    assert "CREATE" in left


def test_a_pipe_that_breaks_is_no_traceback(tmp_path: Path) -> None:
    """Whoever reads no further, as head does, hears nothing on stderr."""
    rows = "".join(f"User:u{number},TOPIC,LITERAL,t,READ,ALLOW,*\n" for number in range(20_000))
    header = "Principal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
    (tmp_path / "acls.csv").write_text(header + rows)
    words = ("who-can", "--operation", "Read", "--topic", "t", "acls.csv")
    reader, writer = os.pipe()
    os.close(reader)

    done = acls(tmp_path, *words, capture_output=False, stdout=writer, stderr=subprocess.PIPE)

    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(("settings", "has_colours"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals(
    tmp_path: Path, settings: dict[str, str], *, has_colours: bool
) -> None:
    """On a terminal, unless NO_COLOR is set; never in a pipe."""
    (tmp_path / "acls.yaml").write_text("version: 1\nacls: []\n")
    controller, terminal = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    environment |= {"TERM": "xterm", **settings}
    words = (*QUESTION, "acls.yaml")

    done = acls(
        tmp_path,
        *words,
        capture_output=False,
        stdout=terminal,
        stderr=subprocess.PIPE,
        env=environment,
    )

    os.close(terminal)
    shown = os.read(controller, 65536).decode()
    os.close(controller)
    assert done.returncode == 0
    assert ("\x1b[31m" in shown) is has_colours
    assert "\x1b" not in acls(tmp_path, *words, env=environment).stdout


def test_bash_completes(tmp_path: Path) -> None:
    """The script, in a shell that has it."""
    program = tmp_path / "doorkeeper"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m doorkeeper "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(doorkeeper completion bash)"\n'
        "COMP_WORDS=(doorkeeper acls wh); COMP_CWORD=2; COMP_LINE='doorkeeper acls wh'\n"
        "_doorkeeper_completion doorkeeper\n"
        'echo "${COMPREPLY[@]}"\n'
    )

    done = subprocess.run(
        ["bash", "-c", script],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == ("who-can what-can\n", "")
