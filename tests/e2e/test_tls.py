"""TLS of the real process: certificates that change while clients are served."""

from __future__ import annotations

import random
import signal
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from testkit.certificates import Authority, crl_pem, world
from testkit.frame_steps import change_configs
from testkit.serving import Conversation, Serving
from testkit.tls import client_context

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 30
ASKED = ApiVersionsRequest(client_software_name="test", client_software_version="1")


class Talk(Conversation):
    """A conversation over TLS."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        """Connect and shake hands."""
        super().__init__(port)
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost")

    @property
    def server_certificate(self) -> bytes:
        """Return what the server showed."""
        assert isinstance(self.socket, ssl.SSLSocket)
        shown = self.socket.getpeercert(binary_form=True)
        assert shown is not None
        return shown

    def ask(self) -> None:
        """Have a request answered."""
        assert self.call(ASKED, ApiVersionsResponse, 3).error_code == 0


def replaced(file: Path, text: str) -> None:
    """Write a file as those do who know that others read it."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


def serving(folder: Path, *more: str) -> Serving:
    """Start a server that asks for certificates; alice may do everything."""
    world().server.write_pem(folder / "server.pem")
    (folder / "trusted.pem").write_text(world().authority.pem)
    (folder / "revoked.pem").write_text(crl_pem(world().authority.revoked(world().bob)))
    lines = (
        "listeners=SSL://localhost:0",
        "security.inter.broker.protocol=SSL",
        "ssl.keystore.type=PEM",
        "ssl.keystore.location=server.pem",
        "ssl.truststore.type=PEM",
        "ssl.truststore.location=trusted.pem",
        "ssl.client.auth=requested",
        "ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/",
        "doorkeeper.ssl.crl.file=revoked.pem",
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users=User:alice",
        *more,
    )
    (folder / "server.properties").write_text("\n".join(lines))
    return Serving(folder, "--config", "server.properties")


def test_certificate_rotation_under_load(tmp_path: Path) -> None:
    context = client_context(world().alice, tmp_path)
    failures: list[BaseException] = []
    stop = threading.Event()
    counts = {"new": 0, "held": 0}

    def again(port: int) -> None:
        try:
            while not stop.is_set():
                with Talk(port, context) as talk:
                    talk.ask()
                counts["new"] += 1
        except BaseException as error:  # every failure is the finding
            failures.append(error)

    def hold(port: int) -> None:
        try:
            with Talk(port, context) as talk:
                while not stop.is_set():
                    talk.ask()
                    counts["held"] += 1
        except BaseException as error:  # every failure is the finding
            failures.append(error)

    with serving(tmp_path) as server:
        port = server.port("SSL")
        threads = [threading.Thread(target=each, args=(port,)) for each in (again, again, hold)]
        for thread in threads:
            thread.start()
        renewals = 0
        # Five renewals take a tenth of a second: go on until everybody has been there often.
        while not failures and (renewals < 5 or min(counts.values()) <= 5):
            renewals += 1
            renewed = world().authority.server()
            replaced(tmp_path / "server.pem", renewed.key_pem() + renewed.chain_pem)
            server.process.send_signal(signal.SIGHUP)
            wait_for_certificate(port, context, renewed.der)
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)

        assert failures == []
        assert min(counts.values()) > 5
        assert server.stop() == 0


def wait_for_certificate(port: int, context: ssl.SSLContext, wanted: bytes) -> None:
    """Connect until the server shows a certificate."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with Talk(port, context) as talk:
            if talk.server_certificate == wanted:
                return
    pytest.fail("the new certificate is not used")


@pytest.mark.slow
def test_changed_files_are_noticed(tmp_path: Path) -> None:
    alice = client_context(world().alice, tmp_path)
    with serving(tmp_path) as server:
        port = server.port("SSL")
        with Talk(port, alice) as held:
            held.ask()
            replaced(tmp_path / "server.pem", "nothing")
            line = server.line("files not reloaded: the previous values stay in use")
            assert line["problem"] == (
                "ssl.keystore.location: server.pem: found data that is not PEM; allowed: PEM with"
                " a block PRIVATE KEY"
            )
            with Talk(port, alice) as other:
                other.ask()
            world().server.write_pem(tmp_path / "server.pem")
            replaced(tmp_path / "revoked.pem", crl_pem(world().authority.revoked(world().alice)))
            server.line("failed TLS handshake") if refused(port, alice) else pytest.fail("served")
            held.ask()

        assert len(server.of("files not reloaded: the previous values stay in use")) == 1
        assert server.stop() == 0


def refused(port: int, context: ssl.SSLContext) -> bool:
    """Connect until the server refuses that."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with Talk(port, context) as talk:
                talk.ask()
        except (OSError, EOFError):
            return True
        time.sleep(0.1)
    return False


def test_sighup_changes_tls_keys(tmp_path: Path) -> None:
    alice, nobody = client_context(world().alice, tmp_path), client_context()
    with serving(tmp_path) as server:
        port = server.port("SSL")
        file = tmp_path / "server.properties"
        requested = file.read_text()
        with Talk(port, nobody) as held:
            held.ask()
            file.write_text(requested.replace("auth=requested", "auth=required"))
            server.process.send_signal(signal.SIGHUP)
            server.line("reloaded")
            with pytest.raises((OSError, EOFError)), Talk(port, nobody) as other:
                other.ask()
            with Talk(port, alice) as other:
                other.ask()
            held.ask()
            file.write_text(requested.replace("trusted.pem", "missing.pem"))
            server.process.send_signal(signal.SIGHUP)
            problem = server.line("not reloaded")["problem"]
            with Talk(port, alice) as other:
                other.ask()

        assert problem == (
            "server.properties line 6: ssl.truststore.location: missing.pem:"
            " No such file or directory"
        )
        assert server.stop() == 0


def altered(talk: Talk, *keys: tuple[str, int, str | None]) -> tuple[int, str | None]:
    """Return the code and the text of a change of the broker's keys."""
    step = change_configs(1, (4, "1", keys))
    (row,) = talk.call(step.request, step.response, step.version).responses
    return row.error_code, row.error_message


def test_dynamic_key_stores(tmp_path: Path) -> None:
    stores = "listener.name.ssl.ssl.keystore.location", "listener.name.ssl.ssl.truststore.location"
    renewed, other = world().authority.server(), Authority("Other")
    renewed.write_pem(tmp_path / "renewed.pem")
    (tmp_path / "both.pem").write_text(world().authority.pem + other.pem)
    known = world().alice, other.client("carol")
    alice, carol = (client_context(each, tmp_path) for each in known)

    with serving(tmp_path) as server:
        lists = crl_pem(world().authority.revoked(world().bob), other.revoked())
        (tmp_path / "revoked.pem").write_text(lists)
        port = server.port("SSL")
        with Talk(port, alice) as held:
            assert altered(held, (stores[0], 0, str(tmp_path / "renewed.pem"))) == (0, None)
            assert altered(held, (stores[1], 0, str(tmp_path / "both.pem"))) == (0, None)
            code, text = altered(held, (stores[0], 0, str(tmp_path / "none.pem")))
            assert (code, "none.pem" in str(text)) == (42, True)
            with Talk(port, carol) as talk:
                talk.ask()
                assert talk.server_certificate == renewed.der
            held.ask()
        assert server.stop() == 0

    with Serving(tmp_path, "--config", "server.properties") as server:
        port = server.port("SSL")
        with Talk(port, alice) as talk:
            assert talk.server_certificate == renewed.der
            assert altered(talk, (stores[0], 1, None)) == (0, None)
        with Talk(port, alice) as talk:
            assert talk.server_certificate == world().server.der
        assert server.stop() == 0


def test_broken_tls_greetings(tmp_path: Path) -> None:
    chance = random.Random(7)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    greeting = client_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        greeting.do_handshake()
    whole = outgoing.read()
    noises = [b"\0\0\0\x10\0\x12\0\0\0\0\0\1\0\4test\0\0"]
    for number in range(60):
        data = bytearray(whole if number % 4 else chance.randbytes(200))
        for _ in range(chance.randrange(4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        noises.append(bytes(data[: chance.randrange(len(data) + 1)]))
    with serving(tmp_path) as server:
        port = server.port("SSL")
        for noise in noises:
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as raw:
                raw.sendall(noise)
                raw.shutdown(socket.SHUT_WR)
                ended(raw)
        with Talk(port, client_context(world().alice, tmp_path)) as talk:
            talk.ask()
        assert server.line("failed TLS handshake")["reason"] == "the client does not speak TLS"
        assert server.stop() == 0
        (created,) = (each for each in server.lines if each["level"] in ("WARN", "ERROR"))
        assert created["event"].startswith("store created")
        assert len(server.of("failed TLS handshake")) >= 10
        assert server.of("failed TLS handshakes, not logged one by one")
        assert server.errors() == ""


def ended(raw: socket.socket) -> None:
    """Wait for the end of a connection, however it comes."""
    with suppress(ConnectionError):
        while raw.recv(4096):
            pass
