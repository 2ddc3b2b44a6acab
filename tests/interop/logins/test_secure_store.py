"""A shared store behind TLS and passwords: a server uses it, and tells nobody its password."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit import certificates
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.leaks import files_of, leaks
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.postgres import OWNER, Database, Postgres

SECRET = "Tr0ub4dor/&3 ä"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Postgres]:
    """Give a server that takes TLS only, with certificates, and asks for a password."""
    server = or_skip(
        lambda: Postgres(
            password=SECRET, authority=certificates.world().authority, client_certificates=True
        )
    )
    with server:
        yield server


@pytest.fixture
def trust(tmp_path: Path) -> dict[str, str]:
    """Files of a client that this server trusts, and that trusts it."""
    world = certificates.world()
    own = world.authority.certify(("CN", OWNER))
    texts = {"ca": world.authority.pem, "crt": own.chain_pem, "key": own.key_pem()}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    names = {"sslrootcert": "ca", "sslcert": "crt", "sslkey": "key"}
    files = {key: str(tmp_path / name) for key, name in names.items()}
    return {"sslmode": "verify-full", **files}


def doorkeeper(*words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "doorkeeper", *words]
    return subprocess.run(command, capture_output=True, timeout=scaled(60), check=False)


def server_of(url: str, port: int, **more: str) -> DoorkeeperServer:
    properties = {
        "node.id": "1",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "doorkeeper.store": url,
        "doorkeeper.log.levels": "root=DEBUG",
    }
    given = properties | {key.replace("__", "."): value for key, value in more.items()}
    return DoorkeeperServer(given, ports=(port,))


@pytest.mark.parametrize("how", ["url", "file"])
def test_password_is_never_shown(
    guarded: Postgres, trust: dict[str, str], tmp_path: Path, how: str
) -> None:
    database = guarded.create_database()
    port = free_port()
    if how == "url":
        server = server_of(database.url(trust, password=SECRET), port)
    else:
        (tmp_path / "password").write_text(f"{SECRET}\n")
        password = {"doorkeeper__store__password__file": str(tmp_path / "password")}
        server = server_of(database.url(trust), port, **password)
    try:
        server.start()
        outputs = used(server, database, port)
        assert server.stop() == 0
        logs = {name: text for name, text in files_of(server.folder).items() if "log" in name}
    finally:
        server.close()

    assert b'"event":"started"' in b"".join(logs.values()).replace(b": ", b":")
    assert leaks([SECRET], {**outputs, **logs}) == []
    assert b"hunted" in outputs["list"]


def used(server: DoorkeeperServer, database: Database, port: int) -> dict[str, bytes]:
    """Do what an operator does; return what each command printed."""
    config = str(server.folder / "server.properties")
    bootstrap = ("--bootstrap-server", f"127.0.0.1:{port}")
    words = {
        "add": ("acls", "add", *bootstrap, "--allow-principal", "User:a", "--topic", "hunted"),
        "list": ("acls", "list", *bootstrap),
        "check": ("store", "check", f"config:{config}"),
        "show": ("config", "show", config),
        "config check": ("config", "check", config),
        "copy": (
            "store",
            "copy",
            f"config:{config}",
            f"store:{server.folder}/copy",
        ),
    }
    outputs = {}
    for name, command in words.items():
        done = doorkeeper(*command)
        outputs[name] = done.stdout + done.stderr
        if name not in {"copy", "config check"}:
            assert done.returncode == 0, outputs[name]
    assert b"in use by the nodes 1" in outputs["copy"]
    database.terminate_backends()
    done = doorkeeper(*words["list"])
    outputs["after a loss"] = done.stdout + done.stderr
    return outputs


def test_wrong_password_stops_the_start(guarded: Postgres, trust: dict[str, str]) -> None:
    database = guarded.create_database()
    port = free_port()
    server = server_of(database.url(trust, password="wr0ng-one"), port)
    try:
        with pytest.raises(RuntimeError, match="nothing listens"):
            server.start()
        log = server.log.read_bytes()
    finally:
        server.close()

    assert b"password authentication failed" in log
    assert b"Traceback" not in log
    assert leaks(["wr0ng-one"], {"log": log}) == []
