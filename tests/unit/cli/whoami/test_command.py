"""``doorkeeper whoami``: files, rules, ACLs, near misses and live logins."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.testing import DoorkeeperServer
from testkit.acl import READ, allow, topic
from testkit.certificates import world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT"
CONFIG = f"""
listeners=CLIENTS://:9092,OAUTH://:9093
advertised.listeners=CLIENTS://broker:9092,OAUTH://broker:9093
listener.security.protocol.map=CLIENTS:SSL,OAUTH:SASL_SSL
listener.name.clients.ssl.client.auth=required
listener.name.clients.ssl.principal.mapping.rules={RULES}
listener.name.oauth.sasl.enabled.mechanisms=OAUTHBEARER,GSSAPI
super.users=User:admin;User:Alice
"""
ACLS = r"""KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host
User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*
"User:C=DE,O=Example\, Inc,OU=ServiceUsers,CN=alice",TOPIC,LITERAL,orders,WRITE,ALLOW,*
User:*,TOPIC,LITERAL,public,READ,ALLOW,*
"""
SUBJECT = r"CN=alice,OU=ServiceUsers,O=Example\, Inc,C=DE"
WHOLE_NAME = "the full distinguished name, to which no mapping rule was applied"
NEAR = r"'User:C=DE,O=Example\, Inc,OU=ServiceUsers,CN=alice'"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files of a broker and a client, and work in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broker.properties").write_text(CONFIG)
    (tmp_path / "acls.csv").write_text(ACLS)
    (tmp_path / "alice.pem").write_text(world().alice.key_pem("secret") + world().alice.chain_pem)
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(doorkeeper, ["whoami", *words])
    return found.exit_code, found.stdout, found.stderr


def answer(*words: str) -> Any:
    code, text, errors = run(*words, "--output", "json")
    assert code == 0, errors
    return json.loads(text)


def listener(name: str, *words: str) -> tuple[str, ...]:
    return ("--config", "broker.properties", "--listener", name, *words)


def token(claims: dict[str, object]) -> str:
    header = {"alg": "RS256", "kid": "key-id"}
    parts = [json.dumps(part).encode() for part in (header, claims)]
    whole = [*parts, b"0123456789"]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in whole)


def test_principal_of_a_certificate(folder: Path) -> None:
    code, text, _ = run("acls.csv", *listener("clients", "--cert", "alice.pem"))

    assert code == 0
    assert text.splitlines() == [
        "User:alice (inferred)",
        "because: the first rule that applies: RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        f"certificate: {SUBJECT}",
        "listener: CLIENTS, SSL",
        "rules: listener.name.clients.ssl.principal.mapping.rules",
        "> RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/  gives alice",
        "  DEFAULT                                not reached",
        "assumed: the broker runs with these values",
        "assumed: the broker trusts the certificate's issuer",
        "ACLs that name it: 1 of 3 in acls.csv",
        "  User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*",
        "ACLs of User:*, which also apply to it: 1",
        "  User:*,TOPIC,LITERAL,public,READ,ALLOW,*",
        "super.users: does not name it (--config)",
        "near misses (similar names, but different principals for Kafka):",
        "  'User:Alice' differs in upper and lower case (a super user)",
        f"  {NEAR} differs in {WHOLE_NAME} (1 ACL)",
    ]


def test_json_output(folder: Path) -> None:
    found = answer("acls.csv", *listener("CLIENTS", "--cert", "alice.pem"))

    assert (found["principal"], found["basis"]) == ("User:alice", "inferred")
    assert found["subject"] == {"certificate": SUBJECT}
    assert [each["result"] for each in found["rules"]["tried"]] == ["GIVES", "NOT_REACHED"]
    assert [each["name"] for each in found["acls"]["own"]] == ["orders"]
    assert [each["differences"] for each in found["acls"]["nearMisses"]] == [
        ["CASE"],
        ["WHOLE_NAME"],
    ]
    assert found["acls"]["superUser"] is False


def test_private_key_is_not_read(folder: Path) -> None:
    damaged = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\n!!\n-----END RSA PRIVATE KEY-----\n"
    (folder / "damaged.pem").write_text(damaged + world().alice.pem)
    (folder / "alice.der").write_bytes(world().alice.der)

    for name in ("damaged.pem", "alice.der"):
        assert answer(*listener("CLIENTS", "--cert", name))["principal"] == "User:alice"


def test_only_the_name_claim_is_shown(folder: Path) -> None:
    secrets = {"email": "alice@example.com", "jti": "token-id", "exp": 1}
    (folder / "alice.jwt").write_text(token({"sub": "alice", **secrets}) + "\n")
    (folder / "nobody.jwt").write_text(token(secrets))

    texts = [
        run("acls.csv", *listener("OAUTH", "--token", name, "--output", output))[1]
        for name in ("alice.jwt", "nobody.jwt")
        for output in ("text", "json")
    ]

    assert texts[0].startswith("User:alice (inferred)\nbecause: the claim sub of the token\n")
    assert texts[2].startswith("REFUSED: no principal\nbecause: sub: the claim")
    hidden = ("example.com", "token-id", "key-id", "0123456789", token({})[:20])
    assert [each for each in hidden if each in "".join(texts)] == []


def test_kerberos_principal(folder: Path) -> None:
    words = listener("OAUTH", "--kerberos", "alice@A")

    assert answer(*words)["principal"] == "User:alice"
    assert answer(*words, "--default-realm", "B")["outcome"] == "REFUSED"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give one of --cert, --token, --kerberos or --user, or the address"),
        (("acls.csv",), "acls.csv is not a live cluster"),
        (("--user", "a"), "--config is missing"),
        (("kafka://a:1", "--listener", "A"), "--listener requires --config"),
        (("kafka://a:1", "--override", "a=b"), "--override requires --config"),
        (("--user", "a", "--kerberos", "b"), "found 2"),
        (("--config", "broker.properties", "--user", "a"), "--listener: is missing"),
        (listener("X", "--user", "a"), "found 'X'; allowed: CLIENTS, OAUTH"),
        (listener("OAUTH", "--user", "a", "--default-realm", "R"), "--default-realm requires"),
        (
            listener("OAUTH", "--user", "a", "--create-token"),
            "--create-token requires a login to a live",
        ),
        (listener("OAUTH", "--user", "a", "--command-config", "b"), "requires a live cluster"),
    ],
)
def test_wrong_usage(folder: Path, words: tuple[str, ...], said: str) -> None:
    """The message says what to give."""
    code, _, errors = run(*words)

    assert code == 2
    assert said in errors


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("cert", b"", "no PEM block CERTIFICATE"),
        ("cert", b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----", "is not base64"),
        ("cert", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "malformed"),
        ("cert", b"\x30\x03abc", "keytool"),
        ("token", b"opaque", "not a JSON Web Token"),
        ("token", b"\xff", "not ASCII"),
        ("token", b"a.b.c", "not a JSON Web Token"),
    ],
)
def test_files_of_other_types_are_rejected(folder: Path, name: str, data: bytes, said: str) -> None:
    (folder / "file").write_bytes(data)

    code, _, errors = run(*listener("CLIENTS" if name == "cert" else "OAUTH", f"--{name}", "file"))

    assert code == 1
    assert errors.startswith("doorkeeper: file: ")
    assert said in errors


def test_misspelled_key_is_reported(folder: Path) -> None:
    file = folder / "broker.properties"
    file.write_text(CONFIG.replace("mapping.rules", "maping.rules"))

    code, text, errors = run(*listener("CLIENTS", "--cert", "alice.pem"))

    assert (code, text.splitlines()[0]) == (0, f"User:{SUBJECT} (inferred)")
    assert "ssl.principal.maping.rules: unknown key; did you mean" in errors
    assert "login module" not in errors


def test_missing_file_and_unknown_listener(folder: Path) -> None:
    """They end with status 1 and a line."""
    assert run(*listener("CLIENTS", "--cert", "none.pem"))[2] == (
        "doorkeeper: none.pem: No such file or directory\n"
    )
    assert "its principals come from SASL" in run(*listener("OAUTH", "--cert", "alice.pem"))[2]


# --- live


@contextmanager
def serving(**properties: str) -> Iterator[DoorkeeperServer]:
    keys = {key.replace("_", "."): value for key, value in properties.items()}
    with DoorkeeperServer(
        users={"bob": "bob-secret", "carol": "carol-secret"},
        mechanisms=["PLAIN"],
        super_users=["User:carol"],
        principals=["User:BOB"],
        acls=[allow("User:bob", READ, topic("orders")), allow("User:BOB", READ, topic("orders"))],
        properties=keys,
    ) as server:
        yield server


@pytest.fixture(scope="module")
def server() -> Iterator[DoorkeeperServer]:
    """Give a server that creates delegation tokens."""
    with serving(delegation_token_secret_key="a secret") as server:
        yield server


def login(folder: Path, user: str = "bob", password: str | None = None) -> str:
    """Write the properties of a client; return the name of the file."""
    password = password or f"{user}-secret"
    (folder / f"{user}.properties").write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required"
        f' username="{user}" password="{password}";\n'
    )
    return f"{user}.properties"


def live(server: DoorkeeperServer, file: str, *words: str) -> tuple[str, ...]:
    return (f"kafka://{server.bootstrap_servers}", "--command-config", file, *words)


def test_login_without_describe_permission(server: DoorkeeperServer, folder: Path) -> None:
    address = server.bootstrap_servers

    code, text, _ = run(*live(server, login(folder)))

    assert code == 0
    assert text.splitlines() == [
        "User:bob (inferred)",
        "because: the name in the client's properties",
        "assumed: the broker uses the default principal.builder.class (see --config)",
        f"known: kafka://{address} accepts the login",
        (
            "note: no response named the principal;"
            " --create-token finds it by creating a delegation token"
        ),
        f"ACLs: unknown; this login is not authorized to list the ACLs of the brokers at {address}",
        "super.users: not known",
    ]


def test_login_that_may_list_acls(server: DoorkeeperServer, folder: Path) -> None:
    found = answer(*live(server, login(folder, "carol")))

    assert found["note"].startswith(
        "User:carol may describe the ACLs although no ACL allows it, so it is"
    )
    assert (found["acls"]["number"], found["acls"]["own"]) == (2, [])


def test_principal_by_delegation_token(folder: Path) -> None:
    with serving(
        delegation_token_secret_key="a secret",
        principal_builder_class="testkit.callback_handlers:Upper",
    ) as server:
        words = live(server, login(folder), "--create-token")
        found, text = answer(*words), run(*words)[1]
    assert (found["principal"], found["basis"], found["inferred"]) == (
        "User:BOB",
        "known",
        "User:bob",
    )
    assert text.startswith("User:BOB (known)\nknown: kafka://")
    assert (
        "it owned a delegation token that was created for this check and expired immediately\n"
    ) in text
    assert "note: different from User:bob, which the configuration gives\n" in text


def test_cluster_without_delegation_tokens(folder: Path) -> None:
    with serving() as server:
        found = answer(*live(server, login(folder), "--create-token"))

    assert (found["principal"], found["basis"]) == ("User:bob", "inferred")
    assert found["live"]["evidence"] == "no token was created: DELEGATION_TOKEN_AUTH_DISABLED"


def test_rejected_login(server: DoorkeeperServer, folder: Path) -> None:
    code, text, _ = run(*live(server, login(folder, password="wrong")))

    assert code == 0
    assert text.startswith("REFUSED: no principal\nbecause: the cluster rejected the login\n")
    assert "Invalid username or password" in text
    assert "wrong" not in text


def test_login_with_the_brokers_rules(server: DoorkeeperServer, folder: Path) -> None:
    (folder / "broker.properties").write_text(
        "listeners=USERS://:9092\nadvertised.listeners=USERS://b:9092\n"
        "listener.security.protocol.map=USERS:SASL_PLAINTEXT\nsuper.users=User:Bob\n"
        "listener.name.users.sasl.enabled.mechanisms=SCRAM-SHA-512\n"
    )

    found = answer(*live(server, login(folder), "--config", "broker.properties"))

    assert found["outcome"] == "REFUSED"
    assert found["because"].startswith("the listener does not offer PLAIN")


def test_unreachable_server(folder: Path) -> None:
    code, _, errors = run("kafka://localhost:1")

    assert code == 1
    assert errors.startswith("doorkeeper: kafka://localhost:1: ")


def test_login_that_was_not_sent_is_not_rejected_by_the_cluster(folder: Path) -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    (folder / "client.properties").write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        f'sasl.jaas.config={module} required unsecuredLoginStringClaim_sub="a"'
        ' unsecuredLoginExtension_auth="x";\n'
    )
    with DoorkeeperServer() as server:
        address = f"kafka://{server.bootstrap_servers}"
        code, text, errors = run(address, "--command-config", "client.properties")

    assert (code, text) == (1, "")
    assert "the extension auth has an invalid name or value" in errors


def test_files_that_are_passed_over_are_told(folder: Path) -> None:
    acls = folder / "acls"
    acls.mkdir()
    (acls / "a.csv").write_text(ACLS)
    (acls / "b.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    login = ("--config", "broker.properties", "--listener", "CLIENTS", "--cert", "alice.pem")

    code, _, errors = run("acls", *login)

    assert (code, errors) == (0, "doorkeeper: note: files of other tools without ACLs: 1\n")
