"""Keys of the audit log, loggers, TLS, the test broker and delegation tokens."""

from __future__ import annotations

import pytest

from doorkeeper.cli.config import origins_of
from doorkeeper.server.config.keys import LOG_LEVELS
from testkit.settings import loaded_from, problems_of, settings_of, warnings_from


def test_levels_of_loggers() -> None:
    """Kafka's names of levels, in any case."""
    levels = settings_of("doorkeeper.log.levels=root=warn, kafka.authorizer.logger = TRACE,x=OFF")

    assert levels[LOG_LEVELS] == {"root": 30, "kafka.authorizer.logger": 5, "x": 60}


@pytest.mark.parametrize(
    ("entry", "allowed"),
    [
        ("doorkeeper.audit.sync=always", "none or interval or strict"),
        ("doorkeeper.audit.decisions=some", "all or denied or none"),
        ("doorkeeper.audit.queue.events=1", "a whole number from 1000"),
        ("doorkeeper.audit.retention.days=-2", "a whole number from -1"),
        ("doorkeeper.log.levels=x=LOUD", "found 'x=LOUD'; allowed: logger=level with one of TRACE"),
        ("ssl.client.auth=Required", "allowed: required or requested or none"),
        ("doorkeeper.test.broker.memory.bytes=7", "1048576"),
        ("delegation.token.max.lifetime.ms=0", "delegation.token.max.lifetime.ms"),
        ("sasl.oauthbearer.jwks.endpoint.refresh.ms=0", "a whole number from 1"),
        ("sasl.oauthbearer.clock.skew.seconds=-1", "a whole number from 0"),
        ("doorkeeper.test.broker=true\ndoorkeeper.store=postgresql://u@h/d\nnode.id=1",
         "found true with a shared store"),
    ],
)  # fmt: skip
def test_invalid_values_stop_the_start(entry: str, allowed: str) -> None:
    (problem,) = problems_of(entry)

    assert allowed in problem


def test_test_broker_is_off_by_default() -> None:
    enabled = "doorkeeper.test.broker=true\n"

    assert settings_of("").test_broker_memory_bytes is None
    assert settings_of(enabled).test_broker_memory_bytes == 268_435_456
    given = settings_of(f"{enabled}doorkeeper.test.broker.memory.bytes=2000000")
    assert given.test_broker_memory_bytes == 2_000_000


SASL = """
listeners=L://localhost:0
listener.security.protocol.map=L:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.l.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule \
  required user_a="b";
"""


def test_delegation_token_secret_is_hidden() -> None:
    texts = [SASL + f"delegation.token.{name}.key=hush-hush" for name in ("secret", "master")]
    newer, older = map(loaded_from, texts)
    warnings, of_older = map(warnings_from, texts)
    both = loaded_from(
        SASL + "delegation.token.master.key=hush-hush\ndelegation.token.secret.key=newer"
    )
    without_scram = warnings_from("delegation.token.secret.key=hush-hush")

    for each in (newer, older):
        assert each.settings.token_secret == "hush-hush"
        assert "hush-hush" not in repr(each.settings) + repr(each.settings.describe())
    assert both.settings.token_secret == "newer"
    assert warnings == []
    assert "is deprecated: use delegation.token.secret.key" in of_older[0]
    assert "no listener enables SCRAM, which" in without_scram[0]
    assert "hush-hush" not in str(without_scram)


def test_login_in_url_is_hidden() -> None:
    key = "sasl.oauthbearer.jwks.endpoint.url"
    settings = settings_of(f"{key}=https://door:hush@idp.example/keys?a=@b")

    (row,) = [each for each in origins_of(settings) if each["key"] == key]
    (described,) = [each for each in settings.describe() if each.name == key]

    assert row["value"] == described.value == "https://[hidden]@idp.example/keys?a=@b"
    assert "hush" not in str(described)
    assert settings.originals[key].startswith("https://door:hush@")
