"""Profiles: files of the user with a cluster and a login."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SERVERS = "bootstrap.servers=h:1,i:2\n"
SECRET = f'sasl.jaas.config={PLAIN} username="a" password="a-secret";\n'


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a user's profiles."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found = tmp_path / "doorkeeper"
    found.mkdir()
    return found


def write(profiles: Path, text: str, mode: int = 0o600) -> Path:
    path = profiles / "prod.properties"
    path.write_text(text)
    path.chmod(mode)
    return path


def run(*words: str) -> Result:
    return CliRunner().invoke(doorkeeper, ["acls", *words])


@pytest.mark.parametrize(
    ("secret", "mode"),
    [
        (SECRET, 0o640),
        (SECRET, 0o604),
        ("ssl.key.password=pw\n", 0o644),
        ("ssl.keystore.key=-----BEGIN PRIVATE KEY-----\n", 0o644),
        ("sasl.oauthbearer.client.credentials.client.secret=s\n", 0o644),
        (f'sasl.jaas.config={PLAIN} username="a" password="${{env:A}}b";\n', 0o644),
        (f'sasl.jaas.config={PLAIN} clientSecret="s";\n', 0o644),
        ("sasl.jaas.config=no module\n", 0o644),
    ],
)
def test_others_may_not_read_a_secret(profiles: Path, secret: str, mode: int) -> None:
    """The file is refused with what to do; its secret is not printed."""
    path = write(profiles, SERVERS + secret, mode)

    done = run("list", "--profile", "prod")

    key = secret.partition("=")[0]
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        f"doorkeeper: {path}: {key} has a secret, and other users may read it, its mode is"
        f" {mode:04o}; chmod 600 {path}, or take it from elsewhere: ${{env:NAME}}\n"
    )


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_others_may_not_change_a_profile(profiles: Path, mode: int) -> None:
    """They would choose the server that gets the password."""
    path = write(profiles, SERVERS, mode)

    done = run("list", "--profile", "prod")

    assert done.exit_code == 1
    assert done.stderr == (
        f"doorkeeper: {path}: other users may change it, its mode is {mode:04o};"
        f" chmod go-w {path}\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected is one of bootstrap.servers and bootstrap.controllers; it has neither"),
        (SERVERS + "bootstrap.controllers=h:1\n", "; it has both"),
        ("a=\\u12\n", "a \\u is not followed by four hex digits"),
    ],
)
def test_errors_of_a_profile(profiles: Path, text: str, said: str) -> None:
    """One line, with the file."""
    path = write(profiles, text)

    done = run("list", "--profile", "prod")

    assert done.exit_code == 1
    assert done.stderr.startswith(f"doorkeeper: {path}")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["prd", "../doorkeeper/prod"])
def test_an_unknown_profile(profiles: Path, name: str) -> None:
    """Wrong usage; the message has the names that there are."""
    write(profiles, SERVERS)

    done = run("list", "--profile", name)

    assert done.exit_code == 2
    assert f"found {name!r}; profiles in {profiles}: prod" in done.stderr
