"""Delegation tokens and SCRAM on a running server: a new secret, a restart, the log."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.frame_steps import describe
from testkit.kafka_target import Target, doorkeeper_target
from testkit.token_cases import Ask, TokenSide

SECRET_KEY = "delegation.token.secret.key"
REACHED_S = 20
REFUSED = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism"
    " SCRAM-SHA-256"
)


@pytest.fixture
def target() -> Iterator[Target]:
    """Give a server with a secret and SCRAM."""
    running = doorkeeper_target(
        **{SECRET_KEY: "the-first-secret", "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"}
    )
    yield running
    running.close()


def with_secret(target: Target, secret: str) -> None:
    """Give the server another secret with SIGHUP, and wait until it counts."""
    assert isinstance(target.server, DoorkeeperServer)
    file = target.server.folder / "server.properties"
    lines = [line for line in file.read_text().splitlines() if not line.startswith(SECRET_KEY)]
    file.write_text("\n".join([*lines, f"{SECRET_KEY}={secret}"]) + "\n")
    before = target.server.log.read_text().count('"reloaded"')
    os.kill(target.server.pid, signal.SIGHUP)
    deadline = time.monotonic() + REACHED_S
    while target.server.log.read_text().count('"reloaded"') == before:
        assert time.monotonic() < deadline, target.server.log.read_text()
        time.sleep(0.02)


def test_new_secret_invalidates_tokens_but_not_connections(target: Target) -> None:
    side = TokenSide(target)
    made = side.ask(Ask("create", "alice", 3, token="old"))
    client, answer = side.login("old", "SCRAM-SHA-256")

    with_secret(target, "the-second-secret")
    late, refused = side.login("old", "SCRAM-SHA-256")
    open_ = client.ask(describe().request, DescribeAclsResponse, 3)
    found = [
        side.ask(wish)["error_code"]
        for wish in (
            Ask("renew", "alice", 2, token="old"),
            Ask("expire", "alice", 2, token="old"),
            Ask("create", "alice", 3, token="new"),
        )
    ]
    told = side.ask(Ask("describe", "alice", 3, principals=None))["tokens"]
    log = target.server.log.read_text()

    assert (made["error_code"], answer.error_code, refused.error_code) == (0, 0, 58)
    assert refused.error_message == REFUSED
    assert open_.error_code == 31
    assert found == [62, 62, 0]
    assert [each["token_id"] for each in told] == ["<id of new>"]
    assert log.count("delegation tokens created with another secret") == 1
    assert side.id_of("old") in log
    assert "the-first-secret" not in log
    assert "the-second-secret" not in log
    assert side.word_of("old") not in log
    for each in (client, late):
        each.close()
    side.close()


def test_tokens_survive_a_restart(target: Target) -> None:
    side = TokenSide(target)
    side.ask(Ask("create", "alice", 3, token="kept"))
    side.ask(Ask("create", "bob", 3, token="ended"))
    side.ask(Ask("expire", "bob", 2, hours=-1, token="ended"))
    side.close()

    assert isinstance(target.server, DoorkeeperServer)
    target.server.kill()
    target.server.start()

    kept, answer = side.login("kept", "SCRAM-SHA-256")
    ended, refused = side.login("ended", "SCRAM-SHA-256")
    assert (answer.error_code, refused.error_code) == (0, 58)
    kept.close()
    ended.close()
    data = b"".join(path.read_bytes() for path in (target.server.folder / "data").iterdir())
    assert side.word_of("kept").encode() not in data
    assert b"the-first-secret" not in data
