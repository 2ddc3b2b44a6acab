"""Each example of authentication in a real server, started by the command of its header."""

from __future__ import annotations

import re
import shlex
import socket
import ssl
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from testkit import logins
from testkit.certificates import Authority
from testkit.checkout import ROOT
from testkit.e2e import ended_well, topic_code, until
from testkit.kafka_broker import free_port
from testkit.serving import Conversation, Serving, creation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = ROOT / "examples" / "authentication"
UNVERIFIED = "Authentication failed: credentials for user could not be verified"
WRONG = "Authentication failed: Invalid username or password"
GENERAL = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism "
)


def serving(folder: Path, example: str, **changed: str) -> Serving:
    """Start what the header of an example says, in a folder, with some values changed."""
    text = (FOLDER / f"{example}.py").read_text(encoding="utf-8")
    found = re.search(r"PYTHONPATH=(\S+) python -m doorkeeper serve (.*?)\n\n", text, re.DOTALL)
    assert found is not None
    words = shlex.split(found[2].replace("\\\n", " "))
    settings = dict(word.split("=", 1) for word in words if word != "--override")
    protocol = settings["listeners"].partition(":")[0]
    settings |= {"listeners": f"{protocol}://localhost:0"}
    settings |= {key.replace("_", "."): value for key, value in changed.items()}
    options = [word for k, v in settings.items() for word in ("--override", f"{k}={v}")]
    return Serving(folder, *options, environment={"PYTHONPATH": str(ROOT / found[1])})


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("localhost", port)) == 0


@contextmanager
def demonstration(example: str) -> Iterator[int]:
    """Start the service that an example brings for trying it out."""
    port = free_port()
    process = subprocess.Popen([sys.executable, FOLDER / f"{example}.py", str(port)])
    try:
        until(lambda: is_open(port))
        yield port
    finally:
        process.kill()
        process.wait()


def text_of(server: Serving, name: str, password: str) -> str | None:
    """Return what a login with PLAIN is told: nothing where it is let in."""
    with server.connect("SASL_PLAINTEXT") as conversation:
        return logins.plain(conversation, name, password).error_message or None


def test_web_service_passwords(tmp_path: Path) -> None:
    with demonstration("web_passwords") as port:
        url = f"http://localhost:{port}/check"
        with serving(tmp_path, "web_passwords", web_passwords_url=url) as server:
            assert text_of(server, "alice", "ecila") is None
            assert text_of(server, "alice", "hush-hush") == WRONG
            ended_well(server)
    with serving(tmp_path, "web_passwords", web_passwords_url=url) as server:
        assert text_of(server, "alice", "hush-hush") == UNVERIFIED
        line = server.line("a callback handler failed: the authentication is rejected")
        assert line["handler"] == "web_passwords.WebPasswords"
        assert "URLError" in line["cause"]
        failed = server.line("failed authentication")
        assert failed["reason"].startswith(f"{UNVERIFIED}: web_passwords.WebPasswords: URLError")
        ended_well(server)
        assert "hush-hush" not in str(server.lines)


def test_file_credentials(tmp_path: Path) -> None:
    file, mechanism = tmp_path / "credentials.txt", "SCRAM-SHA-512"

    def add(name: str) -> None:
        made = subprocess.run(
            [sys.executable, FOLDER / "credentials_file.py", name],
            input=f"{name}-secret\n",
            capture_output=True,
            text=True,
            check=True,
        )
        with file.open("a") as lines:
            lines.write(made.stdout)

    def code(name: str) -> int:
        with server.connect("SASL_PLAINTEXT") as conversation:
            answer = logins.scram(conversation, mechanism, name, "alice-secret")
            assert answer.error_message in ("", GENERAL + mechanism)
            return answer.error_code

    add("alice")
    with serving(tmp_path, "credentials_file", credentials_file=str(file)) as server:
        assert code("alice") == 0
        assert code("bob") == 58
        add("bob")
        assert code("bob") == 58
        with file.open("a") as lines:
            lines.write("what is this?\n")
        assert code("alice") == 58
        line = server.line("a callback handler failed: the authentication is rejected")
        assert line["cause"].endswith("credentials.txt line 5: found no credential")
        ended_well(server)


def test_introspected_tokens(tmp_path: Path) -> None:
    with demonstration("introspection") as port:
        url = f"http://localhost:{port}/introspect"
        with serving(tmp_path, "introspection", introspection_url=url) as server:

            def said(token: str) -> str | None:
                with server.connect("SASL_PLAINTEXT") as conversation:
                    answer = logins.oauthbearer(conversation, token)
                    if not answer.error_code:
                        assert 3_000_000 < answer.session_lifetime_ms <= 3_600_000
                    return answer.error_message or None

            assert said("alice-token") is None
            assert said("alice-other") == '{"status":"invalid_token"}'
            assert said("mallory-token") == '{"status":"insufficient_scope", "scope":"kafka"}'
            ended_well(server)
            assert "alice-other" not in str(server.lines)
            assert "doorkeeper-secret" not in str(server.lines)


def test_certificate_roles(tmp_path: Path) -> None:
    """A unit is a role that ACLs grant to; who has none is who Kafka says."""
    authority = Authority()
    (tmp_path / "ca.pem").write_text(authority.pem)
    authority.certify(("CN", "localhost"), hosts=["localhost"]).write_pem(tmp_path / "server.pem")
    people = {
        "alice": [("O", "Example"), ("OU", "operators"), ("CN", "alice")],
        "bob": [("O", "Example"), ("OU", "writers, and more"), ("CN", "bob")],
        "carol": [("O", "Example"), ("CN", "carol")],
    }
    for name, parts in people.items():
        authority.certify(*parts).write_pem(tmp_path / f"{name}.pem")

    with serving(tmp_path, "roles") as server:

        def connected(name: str) -> Conversation:
            context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
            context.load_cert_chain(tmp_path / f"{name}.pem")
            conversation = server.connect("SSL")
            plain = conversation.socket
            conversation.socket = context.wrap_socket(plain, server_hostname="localhost")
            return conversation

        def granted(name: str, to: str) -> str | None:
            with connected(name) as conversation:
                (row,) = conversation.call(creation(to), CreateAclsResponse, 3).results
            return row.error_message or None

        assert granted("alice", "Role:writers\\, and more") is None
        for other in ("bob", "carol"):
            refusal = granted(other, "Role:x")
            assert refusal is not None
            assert refusal.endswith("needs ALTER permission.")
        for name, code in (("bob", 3), ("carol", 29)):
            with connected(name) as conversation:
                assert topic_code(conversation) == code
        ended_well(server)
