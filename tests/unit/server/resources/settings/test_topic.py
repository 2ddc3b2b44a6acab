"""The settings of topics: the broker's texts for wrong ones."""

from __future__ import annotations

import pytest

from doorkeeper.base.values import KeyType
from doorkeeper.server.config.settings import ConfigSource, Synonym
from doorkeeper.server.resources.settings.topic import (
    InvalidConfig,
    check_configs,
    display,
    effective,
    topic_settings,
)


def test_all_topic_configs_are_described() -> None:
    """33 that are always told, one more for tests of brokers; defaults pass their own checks."""
    defaults = {
        name: row.default for name, row in topic_settings().items() if row.default is not None
    }
    assert len(defaults) == 33
    assert len(topic_settings()) == 34

    check_configs(defaults)
    assert {
        name: display(topic_settings()[name], text) for name, text in defaults.items()
    } == defaults


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("foo", "1", "Unknown topic config name: foo"),
        ("retention.ms", "abc", "{}: Not a number of type LONG"),
        ("retention.ms", "9223372036854775808", "{}: Not a number of type LONG"),
        ("retention.ms", "1" * 5000, "{}: Not a number of type LONG"),
        ("retention.ms", "-5", "{}: Value must be at least -1"),
        ("min.insync.replicas", "0", "{}: Value must be at least 1"),
        ("min.insync.replicas", "99999999999", "{}: Not a number of type INT"),
        ("cleanup.policy", "foo", "{}: String must be one of: compact, delete"),
        ("message.timestamp.type", "x", "{}: String must be one of: CreateTime, LogAppendTime"),
        ("preallocate", "maybe", "{}: Expected value to be either true or false"),
        ("min.cleanable.dirty.ratio", "1.5", "{}: Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "nan", "{}: Not a number of type DOUBLE"),
        ("min.cleanable.dirty.ratio", "\u0661", "{}: Not a number of type DOUBLE"),
        ("retention.ms", "1\u00a0", "{}: Not a number of type LONG"),
        ("segment.bytes", "10", "{}: Value must be at least 1048576"),
        ("compression.gzip.level", "0", "{}: Value must be between 1 and 9 or equal to -1"),
    ],
)
def test_invalid_topic_configs_are_rejected(name: str, value: str, text: str) -> None:
    """As observed on a broker 4.3.1."""
    with pytest.raises(InvalidConfig) as caught:
        check_configs({name: value})
    assert str(caught.value) == text.format(f"Invalid value {value} for configuration {name}")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("2147483648", "2.147483648E9"),
        ("9" * 30, "1.0E30"),
        ("5f", "5.0"),
        ("1e7", "1.0E7"),
        ("1e400", "Infinity"),
    ],
)
def test_numbers_are_formatted_as_in_java(value: str, told: str) -> None:
    """As observed on a broker 4.3.1; a letter for the type may follow the number."""
    with pytest.raises(InvalidConfig, match="no more than 1") as caught:
        check_configs({"min.cleanable.dirty.ratio": value})
    assert str(caught.value).startswith(f"Invalid value {told} for")


@pytest.mark.parametrize("value", [",", "delete,", ",delete", "compact,,compact"])
def test_empty_cleanup_policy_is_rejected(value: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        check_configs({"cleanup.policy": value})
    assert str(caught.value) == "Configuration 'cleanup.policy' values must not be empty."
    for replicas in ("0:1,", "*,", ",*", ""):
        check_configs({"leader.replication.throttled.replicas": replicas})


def test_invalid_list_element_is_named() -> None:
    with pytest.raises(InvalidConfig, match=r"^Invalid value none for .* cleanup\.policy"):
        check_configs({"cleanup.policy": "delete,none"})
    with pytest.raises(InvalidConfig) as caught:
        check_configs({"leader.replication.throttled.replicas": "a,0:1"})
    assert str(caught.value) == (
        "Invalid value [a, 0:1] for configuration leader.replication.throttled.replicas:"
        " leader.replication.throttled.replicas must be the literal '*' or a list of replicas in"
        " the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )


def test_tiered_storage_is_rejected() -> None:
    check_configs({"remote.storage.enable": "false"})
    with pytest.raises(InvalidConfig, match=r"^Tiered Storage functionality is disabled in the"):
        check_configs({"remote.storage.enable": "true"})


def test_compaction_lags_must_be_ordered() -> None:
    with pytest.raises(InvalidConfig) as caught:
        check_configs({"min.compaction.lag.ms": "100", "max.compaction.lag.ms": "10"})
    assert str(caught.value) == (
        "conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (10)"
    )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("retention.ms", " 5 ", "5"),
        ("retention.ms", "+5", "5"),
        ("retention.ms", "\u0661", "1"),
        ("internal.segment.bytes", " 7 ", " 7 "),
        ("preallocate", "TRUE", "true"),
        ("cleanup.policy", "compact, delete", "compact,delete"),
        ("min.cleanable.dirty.ratio", "1", "1.0"),
        ("leader.replication.throttled.replicas", "0:1,1:2", "0:1,1:2"),
        ("follower.replication.throttled.replicas", "*", "*"),
    ],
)
def test_values_are_normalized(name: str, text: str, value: str) -> None:
    check_configs({name: text})

    assert display(topic_settings()[name], text) == value


def test_given_values_override_defaults() -> None:
    plain = values({})
    given = values({"retention.ms": " 5 ", "internal.segment.bytes": "1"})

    assert len(plain) == 33
    assert given == {**plain, "retention.ms": " 5 ", "internal.segment.bytes": "1"}
    assert list(given) == sorted(given)


def values(given: dict[str, str]) -> dict[str, str]:
    rows = effective(given, lambda _key: ())
    return {name: row.value for name, row in rows.items()}


def test_broker_value_overrides_the_default() -> None:
    """It is told with its own name and source; the topic's own value comes before it."""
    of_broker = Synonym("log.retention.bytes", "7", ConfigSource.DYNAMIC_BROKER_CONFIG)

    def given(key: str) -> list[Synonym]:
        return [of_broker] if key == of_broker.name else []

    inherited = effective({}, given)["retention.bytes"]
    own = effective({"retention.bytes": "5"}, given)["retention.bytes"]

    assert inherited[:2] == ("7", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert own[:2] == ("5", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert [synonym.value for synonym in own.synonyms] == ["5", "7", "-1"]


def test_first_fault_is_reported() -> None:
    """Unknown names come first, then values in the order of Kafka's LogConfig."""
    with pytest.raises(InvalidConfig, match=r"configuration retention\.ms"):
        check_configs({"min.insync.replicas": "x", "retention.ms": "x"})
    with pytest.raises(InvalidConfig, match=r"^Unknown topic config name: foo$"):
        check_configs({"retention.ms": "abc", "foo": "2"})


def test_every_key_is_checked() -> None:
    """No key is left out of the order in which values are checked."""
    for name, config in topic_settings().items():
        if config.type is not KeyType.STRING:  # texts have checks of their own, above
            with pytest.raises(InvalidConfig):
                check_configs({name: "bad value!"})
