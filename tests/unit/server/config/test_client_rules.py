"""Rules for clients by their software."""

import pytest

from doorkeeper.server.config.client_rules import ClientRule, ClientSoftware, rule_for
from doorkeeper.server.config.keys import CLIENTS_ANSWER_MAX_BYTES, CLIENTS_WITHHOLD
from testkit.settings import problems_of, settings_of

WITHHOLD = "doorkeeper.clients.withhold"
ANSWER = "doorkeeper.clients.answer.max.bytes"


def test_rules() -> None:
    """A rule has a software, perhaps a version, and numbers."""
    settings = settings_of(
        f"{WITHHOLD}= kafka-python/3=7/14 ,kafka-python=6/12,,unnamed=6/12\n"
        f"{ANSWER}=librdkafka=7000000\n"
    )

    assert settings[CLIENTS_WITHHOLD] == (
        ClientRule("kafka-python", "3", (7, 14)),
        ClientRule("kafka-python", "", (6, 12)),
        ClientRule("unnamed", "", (6, 12)),
    )
    assert settings[CLIENTS_ANSWER_MAX_BYTES] == (ClientRule("librdkafka", "", (7000000,)),)


@pytest.mark.parametrize(
    "text", ["kafka-python", "kafka-python=7", "=7/14", "a b=7/14", "a=7/14/2", "a/=7/14", "a=-1/2"]
)
def test_what_is_no_rule(text: str) -> None:
    """The problem names the key, what was found and what is allowed."""
    (problem,) = problems_of(f"{WITHHOLD}={text}\n")

    assert WITHHOLD in problem
    assert repr(text) in problem
    assert "software=<highest resource type>/<highest operation>" in problem


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("3", True),
        ("3.0.12", True),
        ("30.1", False),
    ],
)
def test_versions(version: str, *, fits: bool) -> None:
    """A version is meant with all that are more exact."""
    rule = ClientRule("kafka-python", "3", (7, 14))

    assert rule.fits(ClientSoftware("kafka-python", version)) is fits
    assert not rule.fits(ClientSoftware("kafka", version))


def test_the_first_that_fits() -> None:
    """The order of the key decides; who fits none has none."""
    narrow, wide = ClientRule("a", "1", (1,)), ClientRule("a", "", (2,))

    assert rule_for((narrow, wide), ClientSoftware("a", "1.5")) == narrow
    assert rule_for((narrow, wide), ClientSoftware("a", "2")) == wide
    assert rule_for((wide, narrow), ClientSoftware("a", "1.5")) == wide
    assert rule_for((narrow, wide), ClientSoftware()) is None
