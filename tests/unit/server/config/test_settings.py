"""Settings as the server reads them, and as DescribeConfigs tells them."""

from __future__ import annotations

from doorkeeper.base.values import KeyType
from doorkeeper.server.config.settings import ConfigSource, DescribedKey, Settings, Synonym
from testkit.settings import settings_of

SASL = """
listeners=SASL://localhost:1
listener.security.protocol.map=SASL:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_a="s3cret";
super.users=User:s3cret
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
"""


def row(settings: Settings, name: str) -> DescribedKey:
    (found,) = [each for each in settings.describe() if each.name == name]
    return found


def test_default_is_the_second_synonym() -> None:
    found = row(settings_of("num.partitions= 3 "), "num.partitions")

    assert found.value == "3"
    assert found.type is KeyType.INT
    assert found.source is ConfigSource.STATIC_BROKER_CONFIG
    assert found.read_only
    assert not found.sensitive
    assert found.doc
    assert found.synonyms == (
        Synonym("num.partitions", "3", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("num.partitions", "1", ConfigSource.DEFAULT_CONFIG),
    )


def test_secrets_have_no_value() -> None:
    """super.users, prefixed JAAS entries and plug-ins' keys are sensitive, as on a broker."""
    settings = settings_of(f"{SASL}com.example.password=s3cret")

    for name in (
        "super.users",
        "listener.name.sasl.plain.sasl.jaas.config",
        "com.example.password",
    ):
        found = row(settings, name)
        assert found.sensitive
        assert found.value is None
        assert found.type is (KeyType.PASSWORD if "jaas" in name else KeyType.UNKNOWN)
        assert found.synonyms == (Synonym(name, None, ConfigSource.STATIC_BROKER_CONFIG),)
    assert "s3cret" not in repr(settings.describe())


def test_keys_without_effect_are_described() -> None:
    """They keep Kafka's type and default; passwords among them stay hidden."""
    settings = settings_of("log.dirs=/x\nssl.key.password=s3cret\nzookeeper.connect=z:2181")

    assert row(settings, "log.dirs").value == "/x"
    assert row(settings, "ssl.key.password").value is None
    assert row(settings, "zookeeper.connect").sensitive
    assert "log.dir" not in [each.name for each in settings.describe()]


def test_repr_hides_secrets() -> None:
    assert 'user_a="s3cret"' not in repr(settings_of(SASL))


def test_node_id_and_broker_id_are_equal() -> None:
    given = ConfigSource.STATIC_BROKER_CONFIG

    assert row(settings_of("node.id=7"), "broker.id").synonyms == (
        Synonym("broker.id", "7", given),
        Synonym("broker.id", "-1", ConfigSource.DEFAULT_CONFIG),
    )
    assert row(settings_of("broker.id=7"), "node.id").source is given
