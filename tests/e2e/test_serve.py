"""``doorkeeper serve`` as an operator meets it: a process, signals, files, and what it prints."""

from __future__ import annotations

from pathlib import Path

from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from testkit import logins
from testkit.e2e import command, doorkeeper, principals_of
from testkit.load import scaled
from testkit.serving import Conversation, Serving, creation


def refused(folder: Path, *arguments: str) -> list[str]:
    """Start a server that must not start; return what it printed on stderr."""
    done = doorkeeper(folder, "serve", *arguments)
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr + done.stdout
    assert "started" not in done.stdout
    return done.stderr.splitlines()


def file_of(folder: Path, text: str) -> tuple[str, str]:
    """Write a server.properties; return the arguments that name it."""
    file = folder / "server.properties"
    file.write_text(text)
    return "--config", str(file)


def test_without_a_file_acls_work(tmp_path: Path) -> None:
    with Serving(tmp_path) as server, server.connect() as conversation:
        created = conversation.call(creation("User:alice"), CreateAclsResponse, 3)

        assert [row.error_code for row in created.results] == [0]
        assert principals_of(conversation) == {"User:alice"}

    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "data").iterdir()} == {0o600}


def test_port_0_is_advertised_as_the_bound_port(tmp_path: Path) -> None:
    with Serving(tmp_path) as server, server.connect() as conversation:
        answer = conversation.call(MetadataRequest(topics=()), MetadataResponse, 12)

        (broker,) = answer.brokers
        assert (broker.host, broker.port) == ("localhost", server.port())
        assert answer.controller_id == broker.node_id == 1
        assert answer.cluster_id == server.line("started")["cluster_id"]


def test_each_configuration_error_is_one_line(tmp_path: Path) -> None:
    lines = refused(tmp_path, *file_of(tmp_path, "num.partitons=3\nnode.id=x\n"))

    errors = [line for line in lines if "doorkeeper: warning: " not in line]
    assert len(errors) == 2
    assert len(lines) == 3
    assert errors[0].endswith("line 1: num.partitons: unknown key; did you mean num.partitions?")
    assert "line 2: node.id: found 'x'; allowed: a whole number from 0" in errors[1]
    assert not (tmp_path / "data").exists()


def test_store_and_port_are_exclusive(tmp_path: Path) -> None:
    with Serving(tmp_path) as server:
        port = server.port()
        other = tmp_path / "other"
        other.mkdir()

        (store_error,) = refused(tmp_path, "--override", "listeners=PLAINTEXT://localhost:0")
        (port_error,) = refused(other, "--override", f"listeners=PLAINTEXT://localhost:{port}")

    assert f"in use by process {server.process.pid}" in store_error
    assert f"cannot bind localhost:{port}: the port is in use by another process" in port_error
    assert list(other.iterdir()) == []


def test_sigterm_under_load_answers_received_requests(tmp_path: Path) -> None:
    """Requests that were received are answered and durable; the status is 0."""
    with Serving(tmp_path) as server:
        conversations = [server.connect() for _ in range(20)]
        for number, conversation in enumerate(conversations):
            for item in range(20):
                conversation.send(creation(f"User:{number}-{item}"), 3)

        first = conversations[0].answer(CreateAclsResponse, 3)
        assert [row.error_code for row in first.results] == [0]
        server.process.terminate()
        acknowledged = {"User:0-0"}
        for number, conversation in enumerate(conversations):
            item = 0 if number else 1
            with conversation:
                try:
                    while item < 20:
                        answer = conversation.answer(CreateAclsResponse, 3)
                        assert [row.error_code for row in answer.results] == [0]
                        acknowledged.add(f"User:{number}-{item}")
                        item += 1
                except (EOFError, ConnectionResetError):
                    # What had not reached the server when it stopped reading.
                    continue
        assert server.process.wait(scaled(20)) == 0
        server.line("stopped")

    with Serving(tmp_path) as server, server.connect() as conversation:
        assert acknowledged <= principals_of(conversation)
        assert server.line("started")["acls"] == len(principals_of(conversation))


def test_kill_loses_no_acknowledged_change(tmp_path: Path) -> None:
    """After kill -9 and a restart every acknowledged ACL is there, and the cluster is the same."""
    with Serving(tmp_path) as server:
        cluster_id = server.line("started")["cluster_id"]
        with server.connect() as conversation:
            for number in range(50):
                conversation.send(creation(f"User:{number}"), 3)
            for _ in range(25):
                conversation.answer(CreateAclsResponse, 3)
        server.process.kill()
        server.process.wait(scaled(20))

    with Serving(tmp_path) as server, server.connect() as conversation:
        assert {f"User:{number}" for number in range(25)} <= principals_of(conversation)
        assert server.line("started")["cluster_id"] == cluster_id


def test_stopped_log_reader_delays_no_request(tmp_path: Path) -> None:
    override = (
        *("--override", "listeners=PLAINTEXT://localhost:0"),
        *("--override", "doorkeeper.log.levels=kafka.authorizer.logger=TRACE"),
    )
    with Serving(tmp_path, *override, read_log=False) as server:
        assert server.process.stdout is not None
        # The start line is read by hand; after it, nothing.
        while b'"event": "started"' not in (line := server.process.stdout.readline()):
            assert line
        port = int(line.split(b"localhost:")[1].split(b'"')[0])
        # Each topic that is asked for is a line of the authorizer's log: twelve megabytes in all.
        topics = tuple(MetadataRequestTopic(name=f"{'x' * 240}-{number}") for number in range(300))
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        with Conversation(port) as conversation:
            for _ in range(60):
                answer = conversation.call(request, MetadataResponse, 8)
                assert len(answer.topics) == len(topics)

        server.process.terminate()
        rest = server.process.stdout.read()
        assert server.process.wait(scaled(20)) == 0
    assert b"log lines were lost because standard output did not take them" in rest


def test_server_runs_without_uvloop(tmp_path: Path) -> None:
    """Without uvloop the server runs on asyncio's own loop."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['uvloop'] = None\n")
    with (
        Serving(tmp_path, environment={"PYTHONPATH": str(tmp_path)}) as server,
        server.connect() as conversation,
    ):
        assert conversation.call(ApiVersionsRequest(), ApiVersionsResponse, 0).error_code == 0
        libraries = Path(f"/proc/{server.process.pid}/maps")
        if libraries.exists():
            assert "uvloop" not in libraries.read_text()


def test_sample_configuration_starts_as_written(tmp_path: Path) -> None:
    """``config init`` writes it, a server starts with it, and its user logs in; ports are free."""
    assert command(tmp_path, "config", "init", "server.properties")[0] == 0
    free_ports = "listeners=SASL://localhost:0,CONTROLLER://localhost:0"
    with (
        Serving(tmp_path, "--config", "server.properties", "--override", free_ports) as server,
        server.connect("SASL") as conversation,
    ):
        assert logins.plain(conversation, "admin", "change-me").error_code == 0
        created = conversation.call(creation("User:alice"), CreateAclsResponse, 3)
        assert server.stop() == 0
    assert [result.error_code for result in created.results] == [0]
    assert (tmp_path / "data").is_dir()
