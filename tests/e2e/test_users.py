"""Users of SCRAM, from the first administrator to the last logout, with real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit.certificates import PASSWORD, trust_store, world
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.frames import Closed, FrameClient
from testkit.kafka_broker import free_port
from testkit.kafka_tools import run_on_terminal
from testkit.scram import ScramClient

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
DENIED = "CLUSTER_AUTHORIZATION_FAILED"
REFUSED = "SASL_AUTHENTICATION_FAILED"


class Site:
    """A server with one SCRAM listener, and an administrator made before its first start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port = free_port()
        self.address = f"localhost:{port}"
        self.server = DoorkeeperServer(
            {
                "listeners": f"DOOR://{self.address}",
                "listener.security.protocol.map": "DOOR:SASL_PLAINTEXT",
                "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
                "authorizer.class.name": (
                    "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
                ),
                "super.users": "User:admin",
                "connections.max.reauth.ms": "3600000",
            },
            ports=(port,),
        )

    def offline(self, *words: str, password: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command on the store."""
        config = ["--config", str(self.server.folder / "server.properties")]
        return users(*words, *config, password=password)

    def online(
        self,
        *words: str,
        password: str = "",
        user: str = "admin",
        login: str = "admin-secret",
        mechanism: str = "SCRAM-SHA-512",
    ) -> subprocess.CompletedProcess[str]:
        """Run a command over the wire, as somebody."""
        file = self._folder / "client.properties"
        file.write_text(self.properties(user, login, mechanism))
        where = ["--bootstrap-server", self.address, "--command-config", str(file)]
        return users(*words, *where, password=password)

    @staticmethod
    def properties(user: str, login: str, mechanism: str = "SCRAM-SHA-512") -> str:
        """Return the properties of a client."""
        return (
            "security.protocol=SASL_PLAINTEXT\n"
            f"sasl.mechanism={mechanism}\n"
            f'sasl.jaas.config={SCRAM} required username="{user}" password="{login}";\n'
        )


def users(
    *words: str, password: str = "", home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command, with this on its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "doorkeeper", "users", *words],
        input=password,
        capture_output=True,
        env=os.environ | ({} if home is None else {"XDG_CONFIG_HOME": str(home)}),
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    found = Site(tmp_path)
    yield found
    found.server.close()


def test_from_the_first_administrator_on(site: Site) -> None:
    """Made offline, it makes others over the wire, whose passwords count and change at once."""
    first = site.offline("add", "admin", password="admin-secret\n")
    assert (first.returncode, first.stderr) == (0, "")
    site.server.start()

    added = site.online("add", "alice", "--iterations", "8192", password="alice-secret\n")
    listed = site.online("list", "--output", "json")
    alice = {"user": "alice", "login": "alice-secret"}
    denied = site.online("list", **alice)
    site.online("set-password", "alice", password="new-secret\n")
    stale = site.online("list", **alice)
    fresh = site.online("list", user="alice", login="new-secret", mechanism="SCRAM-SHA-256")
    site.online("delete", "alice", "--mechanism", "SCRAM-SHA-256")
    half = site.online("list", user="alice", login="new-secret", mechanism="SCRAM-SHA-256")
    other = site.online("list", user="alice", login="new-secret", mechanism="SCRAM-SHA-512")

    assert added.stdout == "alice: added for SCRAM-SHA-256 and SCRAM-SHA-512\n"
    assert [tuple(row.values()) for row in json.loads(listed.stdout)] == [
        ("admin", "SCRAM-SHA-256", 4096),
        ("admin", "SCRAM-SHA-512", 4096),
        ("alice", "SCRAM-SHA-256", 8192),
        ("alice", "SCRAM-SHA-512", 8192),
    ]
    for result, text in (
        (denied, DENIED),
        (stale, REFUSED),
        (fresh, DENIED),
        (half, REFUSED),
        (other, DENIED),
    ):
        assert (result.returncode, result.stdout) == (1, "")
        assert text in result.stderr
    site.server.stop()
    everything = [site.server.log.read_text(), *(each.stderr for each in (added, denied, stale))]
    everything += [
        file.read_bytes().decode("latin-1")
        for file in (site.server.folder / "data").iterdir()
        if file.is_file()
    ]
    for secret in ("admin-secret", "alice-secret", "new-secret"):
        assert not any(secret in text for text in everything)


def test_a_login_from_standard_input_or_a_profile(site: Site, tmp_path: Path) -> None:
    """With both, the file of client properties that --command-config names is not needed."""
    site.offline("add", "admin", password="admin-secret\n")
    site.server.start()
    properties = site.properties("admin", "admin-secret")
    profile = tmp_path / "doorkeeper" / "prod.properties"
    profile.parent.mkdir()
    profile.write_text(f"bootstrap.servers={site.address}\n{properties}")
    profile.chmod(0o600)
    words = ("--bootstrap-server", site.address, "--command-config", "-")

    typed = users("list", *words, password=properties)
    wrong = users("list", *words, password=site.properties("admin", "wrong-secret"))
    nonsense = users("list", *words, password="security.protocol=NONE\n")
    named = users("list", "--profile", "prod", home=tmp_path)
    both = users("add", "bob", *words, password=properties)
    acls = subprocess.run(
        [sys.executable, "-m", "doorkeeper", "acls", "plan", "-", *words[1:]],
        input=properties,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (typed.returncode, typed.stdout) == (0, named.stdout)
    assert "admin  SCRAM-SHA-512  4096 iterations" in typed.stdout
    assert (wrong.returncode, REFUSED in wrong.stderr) == (1, True)
    assert "wrong-secret" not in wrong.stderr
    assert nonsense.stderr.startswith("doorkeeper: security.protocol: found NONE; allowed:")
    assert (both.returncode, "give --password-file FILE" in both.stderr) == (2, True)
    assert (acls.returncode, "standard input can be read once" in acls.stderr) == (2, True)


def test_users_survive_a_kill_and_are_found_offline(site: Site) -> None:
    """What was answered is durable; while the server runs its store is its own."""
    site.offline("add", "admin", password="admin-secret\n")
    site.server.start()
    added = site.online("add", "bob", "--mechanism", "SCRAM-SHA-256", password="bob-secret\n")
    busy = site.offline("list")
    site.server.kill()

    listed = site.offline("list")
    gone = site.offline("delete", "bob")

    assert added.returncode == gone.returncode == 0
    assert busy.returncode == 1
    assert "--bootstrap-server" in busy.stderr
    assert listed.stdout.splitlines()[-1] == "bob    SCRAM-SHA-256  4096 iterations"


def test_a_password_is_typed_unseen(site: Site) -> None:
    """At a terminal both questions are asked, and what is typed does not appear."""
    config = str(site.server.folder / "server.properties")
    words = [sys.executable, "-m", "doorkeeper", "users", "add", "admin", "--config", config]

    done = run_on_terminal(
        words, answers=[("New password: ", "typed-secret"), ("confirmation: ", "typed-secret")]
    )

    assert done.status == 0, done
    assert "typed-secret" not in done.stdout
    assert "admin: added" in done.stdout
    site.server.start()
    assert site.online("list", login="typed-secret").returncode == 0


def test_a_change_counts_for_the_next_proof_and_open_sessions_go_on(site: Site) -> None:
    """A deleted user's connection serves on, and ends when the user has to prove it again."""
    site.offline("add", "admin", password="admin-secret\n")
    site.offline("add", "bob", password="bob-secret\n")
    site.server.start()
    staying, leaving, late = talkers = [Talker(site.address) for _ in range(3)]
    assert staying.proves("bob", "bob-secret")
    assert leaving.proves("bob", "bob-secret")

    changed = site.online("set-password", "bob", password="new-secret\n")
    with_the_new = staying.proves("bob", "new-secret")
    deleted = site.online("delete", "bob")

    assert changed.returncode == deleted.returncode == 0
    assert with_the_new
    assert staying.is_served()
    assert leaving.is_served()
    assert not leaving.proves("bob", "bob-secret")
    assert not late.proves("bob", "new-secret")
    assert staying.is_served()
    for each in talkers:
        each.close()


class Talker:
    """A connection that proves who it is by SCRAM-SHA-256, again and again if need be."""

    def __init__(self, address: str) -> None:
        self._client = FrameClient(address)

    def proves(self, user: str, password: str) -> bool:
        """Log in, or authenticate again."""
        mechanism = "SCRAM-SHA-256"
        shaken = self._client.ask(
            SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse, 1
        )
        assert shaken.error_code == 0
        scram = ScramClient(mechanism, user, password)
        first = self._step(scram.first())
        if first.error_code:
            return False
        final = self._step(scram.final(first.auth_bytes))
        return final.error_code == 0 and scram.is_server(final.auth_bytes)

    def _step(self, token: bytes) -> SaslAuthenticateResponse:
        request = SaslAuthenticateRequest(auth_bytes=token)
        answer = self._client.ask(request, SaslAuthenticateResponse, 2)
        assert isinstance(answer, SaslAuthenticateResponse)
        return answer

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def is_served(self) -> bool:
        """Say whether a request is answered."""
        request = DescribeClusterRequest()
        return not isinstance(self._client.ask(request, DescribeClusterResponse, 0), Closed)


def test_a_server_behind_tls_is_asked_too(tmp_path: Path) -> None:
    """SASL_SSL, with the authority in PEM and in PKCS12; an authority is needed."""
    port = free_port()
    pem = world().server.write_pem(tmp_path / "server.pem")
    server = DoorkeeperServer(
        {
            "listeners": f"DOOR://localhost:{port}",
            "listener.security.protocol.map": "DOOR:SASL_SSL",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(pem),
            "super.users": "User:admin",
        },
        ports=(port,),
    )
    config = ("--config", str(server.folder / "server.properties"))
    assert users("add", "admin", *config, password="admin-secret\n").returncode == 0
    ca, store = tmp_path / "ca.pem", tmp_path / "trust.p12"
    ca.write_text(world().authority.pem)
    trust_store(store, "PKCS12", world().authority)
    file = tmp_path / "client.properties"
    base = (
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={SCRAM} required username="admin" password="admin-secret";\n'
    )
    where = ("--bootstrap-server", f"localhost:{port}", "--command-config", str(file))

    server.start()
    try:
        for kind, path in (("PEM", ca), ("PKCS12", store)):
            password = f"ssl.truststore.password={PASSWORD}\n" if kind == "PKCS12" else ""
            location = f"ssl.truststore.location={path}\n"
            file.write_text(f"{base}ssl.truststore.type={kind}\n{location}{password}")
            listed = users("list", *where)
            assert (listed.returncode, listed.stderr) == (0, "")
            assert listed.stdout.startswith("admin  SCRAM-SHA-256  4096")
        file.write_text(base)
        strange = users("list", *where)
        file.write_text(base.replace("SASL_SSL", "SASL_PLAINTEXT"))
        in_clear = users("list", *where)
    finally:
        server.close()

    assert strange.returncode == in_clear.returncode == 1
    assert "certificate verify failed" in strange.stderr
    assert strange.stderr.count("\n") == in_clear.stderr.count("\n") == 1
