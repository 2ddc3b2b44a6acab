"""Delegation tokens beside a real broker: the same rules, errors, times and texts."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doorkeeper_wire.messages import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.frame_steps import CLUSTER, DESCRIBE, USER, create, creation, describe
from testkit.frames import Closed, FrameClient, fields
from testkit.kafka_jars import BROKERS
from testkit.kafka_target import USERS, Target
from testkit.kafka_tools import Done, KafkaTools
from testkit.or_skip import or_skip
from testkit.oracle_totals import Totals
from testkit.pairs import Pair
from testkit.side_by_side import Side, unequal
from testkit.token_cases import (
    CHANGES,
    FIRST,
    Ask,
    TokenSide,
    random_asks,
)

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
CREATE_TOKENS, DESCRIBE_TOKENS = 13, 14

GRANTS = (
    creation(
        resource_type=USER,
        resource_name="User:alice",
        principal="User:bob",
        operation=CREATE_TOKENS,
    ),
    creation(
        resource_type=USER, resource_name="alice", principal="User:zoe", operation=CREATE_TOKENS
    ),
    creation(
        resource_type=USER,
        resource_name="User:admin",
        principal="User:alice",
        operation=DESCRIBE_TOKENS,
    ),
    creation(
        resource_type=CLUSTER,
        resource_name="kafka-cluster",
        principal="User:alice",
        operation=DESCRIBE,
    ),
)


@pytest.fixture(scope="module", params=BROKERS)
def token_pair(request: pytest.FixtureRequest, totals: Totals) -> Iterator[Pair]:
    """Give a broker and a Doorkeeper with the same secret, and some ACLs about tokens."""
    modules = {
        f"listener.name.sasl.{mechanism.lower()}.sasl.jaas.config": f"{SCRAM_MODULE};"
        for mechanism in MECHANISMS
    }
    pair = or_skip(
        lambda: Pair.start(
            totals,
            request.param,
            delegation_token_secret_key="a-secret-of-both",
            sasl_enabled_mechanisms=",".join(("PLAIN", *MECHANISMS)),
            **modules,
        )
    )
    for side in (pair.reference, pair.ours):
        side.ask(create(*GRANTS))
    yield pair
    pair.close()


@pytest.fixture(scope="module")
def sides(token_pair: Pair) -> Iterator[tuple[TokenSide, TokenSide]]:
    """Give both servers, each with a token called first."""
    both = TokenSide(token_pair.reference.target), TokenSide(token_pair.ours.target)
    for side in both:
        side.ask(FIRST)
    yield both
    for side in both:
        side.close()


def compare(sides: tuple[TokenSide, TokenSide], asks: Any, totals: Totals) -> set[int]:
    """Ask both, one request after the other; fail when an answer differs.

    Returns the error codes that came.
    """
    different = []
    codes = set()
    for ask in asks:
        expected, found = (side.ask(ask) for side in sides)
        totals.compared["exchanges about delegation tokens with a broker"] += 1
        different += [str(ask), *unequal("", expected, found)] if expected != found else []
        codes.add(expected["error_code"])
    assert not different, "\n".join(different[:40])
    return codes


@pytest.mark.parametrize("seed", range(4))
def test_random_requests_match_the_broker(
    sides: tuple[TokenSide, TokenSide], totals: Totals, seed: int
) -> None:
    assert {0, 62, 64} <= compare(sides, random_asks(seed, 60), totals)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_token_session_ends_with_the_token(
    sides: tuple[TokenSide, TokenSide], totals: Totals, mechanism: str
) -> None:
    seen = []
    for side in sides:
        name = f"short-{mechanism}"
        side.ask(Ask("create", "alice", 3, token=name))
        side.ask(Ask("expire", "alice", 2, hours=2000, token=name))
        client, answer = side.login(name, mechanism)
        with client:
            whole = round(answer.session_lifetime_ms / 60_000)
            rows = client.ask(describe().request, DescribeAclsResponse, 3)
            seen.append((whole, rows.error_code, len(rows.resources)))
    totals.compared["logins with a token, with a broker"] += 1
    assert seen[0] == seen[1]
    assert seen[0][1] == 0


def test_expired_token_has_no_session(sides: tuple[TokenSide, TokenSide]) -> None:
    for side in sides:
        side.ask(Ask("create", "alice", 3, token="ends"))
        client, answer = side.login("ends", "SCRAM-SHA-512")
        assert answer.session_lifetime_ms > 0
        side.ask(Ask("expire", "alice", 2, hours=0, token="ends"))
        late, answer = side.login("ends", "SCRAM-SHA-512")
        asked = describe().request
        with client, late:
            assert answer.error_code == 0
            assert answer.session_lifetime_ms == 0
            assert late.ask(asked, DescribeAclsResponse, 3) == Closed()
            assert client.ask(asked, DescribeAclsResponse, 3).error_code == 0


def test_token_changes_match_the_broker(sides: tuple[TokenSide, TokenSide], totals: Totals) -> None:
    assert compare(sides, CHANGES, totals) == {0, 62, 63, 64, 66}


REQUESTS = (
    (create_delegation_token.CreateDelegationTokenRequest(), (1, 2, 3)),
    (renew_delegation_token.RenewDelegationTokenRequest(hmac=b"x"), (1, 2)),
    (expire_delegation_token.ExpireDelegationTokenRequest(hmac=b"x"), (1, 2)),
    (describe_delegation_token.DescribeDelegationTokenRequest(owners=None), (1, 2, 3)),
)
RESPONSES = (
    create_delegation_token.CreateDelegationTokenResponse,
    renew_delegation_token.RenewDelegationTokenResponse,
    expire_delegation_token.ExpireDelegationTokenResponse,
    describe_delegation_token.DescribeDelegationTokenResponse,
)


def test_controllers_answer_alike(token_pair: Pair, totals: Totals) -> None:
    heard = []
    for side in (token_pair.reference, token_pair.ours):
        with FrameClient(side.target.controller) as client:
            heard.append(
                [
                    fields(client.ask(request, response, version))
                    for (request, versions), response in zip(REQUESTS, RESPONSES, strict=True)
                    for version in versions
                ]
            )
    totals.compared["exchanges about delegation tokens with a broker"] += len(heard[0])
    assert heard[0] == heard[1]


IDS = re.compile(r"(?<=tokenId : )[A-Za-z0-9_-]{22}|[A-Za-z0-9_-]{22}(?=\s+<hmac>)")
HMACS = re.compile(r"[A-Za-z0-9+/]{86}==")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
TRACES = re.compile(r"^\s+(at |\.\.\. \d+ more).*$", re.MULTILINE)


class Commands:
    """kafka-delegation-tokens.sh as the documentation prints it, for one server."""

    def __init__(self, tools: KafkaTools, target: Target, folder: Path) -> None:
        self._tools = tools
        self._target = target
        self._folder = folder

    def run(self, user: str, line: str) -> Done:
        """Run a line with the properties of a user."""
        config = self._target.config(user, USERS[user])
        file = self._folder / f"{self._target.name}-client.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        words = line.replace("localhost:9092", self._target.sasl)
        words = words.replace("client.properties", str(file))
        return self._tools.run("kafka-delegation-tokens", *words.split())


def _said(done: Done) -> tuple[int, str, str]:
    """Return status and texts without what each server makes up."""
    return done.status, _plain(done.stdout), _plain(done.stderr)


def _plain(text: str) -> str:
    text = HMACS.sub("<hmac>", TIMES.sub("<time>", TRACES.sub("", text)))
    text = re.sub(r"localhost(/127\.0\.0\.1)?:\d+", "<address>", IDS.sub("<id>", text))
    lines = re.sub(r"[ \t]+", " ", text).splitlines()
    return "\n".join(sorted(filter(str.strip, lines)))


AT = "--bootstrap-server localhost:9092"
WITH = "--command-config client.properties"
OWN = f"{AT} --create --max-life-time-period -1 {WITH} --renewer-principal User:user1"
LINES = (
    OWN,
    f"{OWN} --owner-principal User:owner1",
    f"{AT} --renew --renew-time-period -1 {WITH} --hmac ABCDEFGHIJK",
    f"{AT} --expire --expiry-time-period -1 {WITH} --hmac ABCDEFGHIJK",
    f"{AT} --describe {WITH} --owner-principal User:user1",
)
"""The commands of Kafka's security documentation."""


@pytest.mark.parametrize("user", ["alice", "admin"])
def test_documented_commands_behave_alike(
    kafka_tools: Callable[[str], KafkaTools],
    token_pair: Pair,
    totals: Totals,
    tmp_path: Path,
    user: str,
) -> None:
    heard: list[list[Any]] = []
    for side in (token_pair.reference, token_pair.ours):
        commands = Commands(kafka_tools("4.3.1"), side.target, tmp_path)
        told = []
        for line in LINES:
            done = commands.run(user, line)
            told.append(_said(done))
            if "--create" in line and (new := HMACS.findall(done.stdout)):
                _wait_until_told(side, commands, *new)
        made = commands.run(user, LINES[0]).stdout
        (hmac,) = HMACS.findall(made)
        _wait_until_told(side, commands, hmac)
        told += [
            _said(commands.run(user, LINES[number].replace("ABCDEFGHIJK", hmac)))
            for number in (2, 3)
        ]
        heard.append(told)
    totals.compared["commands of kafka-delegation-tokens.sh"] += len(heard[0])
    assert heard[0] == heard[1]
    assert heard[1][0][0] == 0


def _wait_until_told(side: Side, commands: Commands, hmac: str) -> None:
    """A broker shows its tokens a little later."""
    deadline = time.monotonic() + 30
    while side.target.is_kafka and time.monotonic() < deadline:
        shown = commands.run("admin", LINES[4]).stdout
        if hmac in shown:
            return


def test_java_client_authenticates_with_a_token(
    kafka_tools: Callable[[str], KafkaTools], token_pair: Pair, tmp_path: Path
) -> None:
    heard = []
    tools = kafka_tools("4.3.1")
    for side in (token_pair.reference, token_pair.ours):
        commands = Commands(tools, side.target, tmp_path)
        made = commands.run("alice", LINES[0]).stdout
        (hmac,) = HMACS.findall(made)
        _wait_until_told(side, commands, hmac)
        (token_id,) = re.findall(r"^([A-Za-z0-9_-]{22})\s", made, re.MULTILINE)
        file = tmp_path / f"{side.target.name}-token.properties"
        file.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
            f'sasl.jaas.config={SCRAM_MODULE} username="{token_id}" password="{hmac}"'
            ' tokenauth="true";\n'
        )
        at = ("--bootstrap-server", side.target.sasl, "--command-config", str(file))
        listed = tools.run("kafka-acls", *at, "--list")
        another = tools.run("kafka-delegation-tokens", *at, *LINES[0].split()[2:5])
        heard.append((listed.status, _plain(listed.text), another.status, _plain(another.text)))
    assert heard[0] == heard[1]
    assert heard[1][0] == 0
    assert "User:alice" in heard[1][1]
    assert "Delegation Token requests are not allowed" in heard[1][3]
