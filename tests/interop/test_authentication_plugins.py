"""Kafka's tools against what others' classes, and a users file, say of who they are."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from doorkeeper.authn.users_file_changes import set_user
from testkit.certificates import Authority
from testkit.checkout import ROOT
from testkit.kafka_tools import Done, KafkaTools
from testkit.serving import Serving

AUTHORIZER = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
CLUSTER = ("--operation", "Describe", "--cluster")
SECURITY = "org.apache.kafka.common.security"
REFRESHED_S = 30

Acls = Callable[..., Done]


def serving(folder: Path, *keys: str) -> Serving:
    words = [word for key in (AUTHORIZER, *keys) for word in ("--override", key)]
    path = f"{ROOT / 'tests'}:{ROOT / 'examples' / 'authentication'}"
    return Serving(folder, *words, environment={"PYTHONPATH": path})


def acls(tools: KafkaTools, folder: Path, port: int, client: dict[str, str], *words: str) -> Done:
    """Run kafka-acls.sh with a client's properties."""
    file = folder / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in client.items()))
    server = ("--bootstrap-server", f"localhost:{port}", "--command-config", str(file))
    return tools.run("kafka-acls", *server, *words)


def sasl(mechanism: str, name: str, password: str) -> dict[str, str]:
    """Return the properties of a client."""
    kind = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": (
            f'{SECURITY}.{kind} required username="{name}" password="{password}";'
        ),
    }


def refused(done: Done, text: str) -> bool:
    return done.status == 1 and f"SaslAuthenticationException: {text}" in done.text


def test_a_users_file(tools: KafkaTools, tmp_path: Path) -> None:
    """Its users log in; another password is refused in Kafka's words; a change counts at once."""
    file = tmp_path / "users.txt"
    set_user(file, "alice", "alice-secret", bytes(16))
    keys = (
        "listeners=SASL_PLAINTEXT://localhost:0",
        "sasl.enabled.mechanisms=PLAIN",
        f"doorkeeper.sasl.plain.users.file={file}",
        "super.users=User:alice;User:bob",
    )
    with serving(tmp_path, *keys) as server:
        port = server.port("SASL_PLAINTEXT")

        def listed(name: str, password: str) -> Done:
            return acls(tools, tmp_path, port, sasl("PLAIN", name, password), "--list")

        assert listed("alice", "alice-secret").status == 0
        wrong = "Authentication failed: Invalid username or password"
        assert refused(listed("alice", "wrong"), wrong)
        assert refused(listed("bob", "bob-secret"), wrong)

        set_user(file, "bob", "bob-secret", bytes(16))
        deadline = time.monotonic() + REFRESHED_S
        while listed("bob", "bob-secret").status:
            assert time.monotonic() < deadline, "the new user is not known"
        assert listed("alice", "alice-secret").status == 0
        assert server.stop() == 0
        assert not server.of("threads outlive the authorizer")


def test_a_handler_of_passwords(tools: KafkaTools, tmp_path: Path) -> None:
    """What it says counts; one that fails is told in Kafka's words."""
    keys = (
        "listeners=SASL_PLAINTEXT://localhost:0",
        "sasl.enabled.mechanisms=PLAIN",
        "sasl.server.callback.handler.class=testkit.callback_handlers.Recorded",
        "super.users=User:alice",
    )
    with serving(tmp_path, *keys) as server:
        port = server.port("SASL_PLAINTEXT")

        def listed(name: str, password: str) -> Done:
            return acls(tools, tmp_path, port, sasl("PLAIN", name, password), "--list")

        assert listed("alice", "alicealice").status == 0
        assert refused(
            listed("alice", "alice"), "Authentication failed: Invalid username or password"
        )
        assert refused(
            listed("raise", "raise"),
            "Authentication failed: credentials for user could not be verified",
        )
        assert server.stop() == 0


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_handler_of_credentials(tools: KafkaTools, tmp_path: Path, mechanism: str) -> None:
    """Its users prove themselves; a wrong password and an unknown name read the same."""
    keys = (
        "listeners=SASL_PLAINTEXT://localhost:0",
        f"sasl.enabled.mechanisms={mechanism}",
        "sasl.server.callback.handler.class=testkit.callback_handlers:Directory",
        "super.users=User:alice",
    )
    text = (
        "Authentication failed during authentication due to invalid credentials with SASL"
        f" mechanism {mechanism}"
    )
    with serving(tmp_path, *keys) as server:
        port = server.port("SASL_PLAINTEXT")

        def listed(name: str, password: str) -> Done:
            return acls(tools, tmp_path, port, sasl(mechanism, name, password), "--list")

        assert listed("alice", "alice-secret").status == 0
        assert refused(listed("alice", "wrong"), text)
        assert refused(listed("bob", "alice-secret"), text)
        assert refused(listed("raise", "alice-secret"), text)
        assert server.stop() == 0


def test_an_acl_of_a_role(tools: KafkaTools, tmp_path: Path) -> None:
    """A role that a certificate names is granted to, and used, with Kafka's own tool."""
    authority = Authority()
    server_file = authority.certify(("CN", "localhost"), hosts=["localhost"])
    (tmp_path / "ca.pem").write_text(authority.pem)
    server_file.write_pem(tmp_path / "server.pem")
    for name, unit in (("alice", "operators"), ("bob", "auditors"), ("carol", "guests")):
        authority.certify(("O", "Example"), ("OU", unit), ("CN", name)).write_pem(
            tmp_path / f"{name}.pem"
        )
    keys = (
        "listeners=SSL://localhost:0",
        "ssl.client.auth=required",
        "ssl.keystore.type=PEM",
        "ssl.truststore.type=PEM",
        f"ssl.keystore.location={tmp_path / 'server.pem'}",
        f"ssl.truststore.location={tmp_path / 'ca.pem'}",
        "principal.builder.class=roles.Roles",
        "super.users=Role:operators",
    )
    with serving(tmp_path, *keys) as server:
        port = server.port("SSL")

        def run(name: str, *words: str) -> Done:
            client = {
                "security.protocol": "SSL",
                "ssl.keystore.type": "PEM",
                "ssl.truststore.type": "PEM",
                "ssl.keystore.location": str(tmp_path / f"{name}.pem"),
                "ssl.truststore.location": str(tmp_path / "ca.pem"),
            }
            return acls(tools, tmp_path, port, client, *words)

        assert run("bob", "--list").status == 1
        granted = run("alice", "--add", "--allow-principal", "Role:auditors", *CLUSTER)
        assert granted.status == 0, granted.text

        done = run("bob", "--list")
        assert done.status == 0, done.text
        assert "principal=Role:auditors" in done.stdout
        other = run("carol", "--list")
        assert other.status == 1
        assert "ClusterAuthorizationException" in other.text
        assert server.stop() == 0
