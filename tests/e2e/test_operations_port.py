"""The operations port of the real process: what it says while the server serves and ends."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.runtime.metrics import table
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataResponse
from testkit.certificates import world
from testkit.e2e import STANDARD, configured, doorkeeper, until
from testkit.http_port import Reply, ask
from testkit.load import scaled
from testkit.serving import Serving, creation
from testkit.tls import client_context

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "a-token-of-some-length"


def serving(folder: Path, *lines: str) -> Serving:
    whole = (
        f"listeners=PLAINTEXT://localhost:0\n{STANDARD}super.users=User:ANONYMOUS",
        "doorkeeper.http.listener=http://127.0.0.1:0",
        *lines,
    )
    return configured(folder, "".join(f"{line}\n" for line in whole))


def port_of(server: Serving) -> int:
    return int(server.line("operations port open")["url"].rpartition(":")[2])


def asked(port: int, path: str) -> Reply:
    return asyncio.run(ask(port, path))


def test_requests_decisions_and_connections_are_counted(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with server.connect() as client:
            introduction = ApiVersionsRequest(client_software_name="t", client_software_version="1")
            client.call(introduction, ApiVersionsResponse, 3)
            for number in range(3):
                client.call(creation(f"User:{number}"), CreateAclsResponse, 3)
            client.call(MetadataRequest(topics=()), MetadataResponse, 9)
            port = port_of(server)
            reply = asked(port, "/metrics")

        def requests(api: str) -> float | None:
            return reply.value("doorkeeper_requests_total", api=api, error="none")

        assert [requests(api) for api in ("ApiVersions", "CreateAcls", "Metadata")] == [1, 3, 1]
        for name in ("request", "request_local", "request_remote"):
            assert reply.value(f"doorkeeper_{name}_seconds_count", api="CreateAcls") == 3
        assert reply.value("doorkeeper_store_changes_total") == 3
        assert reply.value("doorkeeper_store_commits_total", result="stored") == 3
        assert reply.value("doorkeeper_revision") == 3
        assert reply.value("doorkeeper_acls") == 3
        assert reply.value("doorkeeper_connections", listener="PLAINTEXT") == 1
        assert reply.value("doorkeeper_decisions_total", result="denied") == 0
        assert (reply.value("doorkeeper_decisions_total", result="allowed") or 0) >= 3
        assert reply.value("doorkeeper_nodes") == 1
        assert reply.value("doorkeeper_is_controller") == 1
        assert reply.value("doorkeeper_metric_faults_total") == 0
        told = [line.split()[2] for line in reply.body.decode().splitlines() if "# TYPE" in line]
        assert told[: len(table.METRICS)] == [metric.name for metric in table.METRICS]
        assert {"process_resident_memory_bytes", "python_gc_collections_total"} < {*told}
        assert server.stop() == 0


def test_draining_server_is_alive_but_not_ready(tmp_path: Path) -> None:
    """Between the signal and the end /readyz is 503 and /livez 200; then nobody answers."""
    slow = tmp_path / "slow_authorizer.py"
    slow.write_text(SLOW)
    with serving(
        tmp_path, "authorizer.class.name=slow_authorizer.Slow", "doorkeeper.shutdown.drain.ms=20000"
    ) as server:
        port = port_of(server)
        with server.connect() as client:
            assert asked(port, "/readyz").status == 200
            client.send(creation("User:x"), 3)
            name, labels = "doorkeeper_delayed_operations", {"operation": "acl-update"}
            until(lambda: asked(port, "/metrics").value(name, **labels) == 1)
            server.process.send_signal(signal.SIGTERM)
            server.line("stopping")

            ready = asked(port, "/readyz")
            assert ready.status == 503
            assert ready.json["checks"]["serving"] == {"ok": False, "detail": "draining"}
            assert asked(port, "/livez").status == 200
            (tmp_path / "go").touch()
            assert server.process.wait(scaled(30)) == 0
        with pytest.raises(ConnectionRefusedError):
            asked(port, "/livez")


SLOW = """
import asyncio
from pathlib import Path
from doorkeeper.plugins import AclCreateResult, AuthorizationResult, Authorizer

class Slow(Authorizer):
    def start(self, server_info):
        return {}
    def authorize(self, context, actions):
        return [AuthorizationResult.ALLOWED] * len(actions)
    def create_acls(self, context, bindings):
        async def later():
            while not Path("go").exists():
                await asyncio.sleep(0.01)
            return AclCreateResult()
        return [later() for _ in bindings]
    def delete_acls(self, context, filters):
        return []
    def acls(self, wanted):
        return []
"""


def test_tls_and_login_on_a_reachable_address(tmp_path: Path) -> None:
    (tmp_path / "ops.pem").write_text(world().server.chain_pem)
    (tmp_path / "ops.key").write_text(world().server.key_pem())
    (tmp_path / "tokens").write_text(TOKEN)
    with serving(
        tmp_path,
        "doorkeeper.http.listener=https://0.0.0.0:0",
        "doorkeeper.http.certificate.file=ops.pem",
        "doorkeeper.http.key.file=ops.key",
        "doorkeeper.http.tokens.file=tokens",
    ) as server:
        port, tls = port_of(server), client_context()
        server.port()

        def status(path: str, token: str = "") -> int:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return asyncio.run(ask(port, path, headers=headers, tls=tls)).status

        assert [status("/livez"), status("/readyz"), status("/metrics")] == [200, 200, 401]
        assert [status("/metrics", TOKEN), status("/metrics", "x" * 20)] == [200, 401]
        assert server.stop() == 0
        assert TOKEN not in str(server.lines)


def test_unprotected_reachable_port_stops_the_start(tmp_path: Path) -> None:
    """One line for each missing key, with file and line, and status 1."""
    text = "listeners=PLAINTEXT://localhost:0\ndoorkeeper.http.listener=http://0.0.0.0:1\n"
    (tmp_path / "server.properties").write_text(text)
    done = doorkeeper(tmp_path, "serve", "--config", "server.properties")
    lines = done.stderr.splitlines()
    needs = [
        line
        for line in lines
        if ("this address is reachable from other machines and requires") in line
    ]
    assert (done.returncode, len(needs)) == (1, 2)
    assert all("server.properties line 2: doorkeeper.http.listener" in line for line in needs)
