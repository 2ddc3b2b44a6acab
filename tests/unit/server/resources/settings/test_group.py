"""Settings of groups."""

from __future__ import annotations

import pytest

from doorkeeper.server.config.settings import default_of
from doorkeeper.server.resources.settings.group import check_group, group_settings
from doorkeeper.server.resources.settings.topic import InvalidConfig


def number(key: str) -> int:
    """Return the default of a key of the server."""
    return int(default_of(key) or "no default")


def test_group_configs_match_the_broker() -> None:
    """17; their defaults are valid."""
    assert len(group_settings()) == 17
    check_group({name: row.default or "" for name, row in group_settings().items()}, number)


def test_synonyms_are_server_keys() -> None:
    for name, row in group_settings().items():
        if row.synonym == name:
            assert default_of(name) is None
        else:
            assert (row.synonym, row.default) == (f"group.{name}", default_of(f"group.{name}"))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("no.such.key", "1", "Unknown group config name: no.such.key"),
        ("consumer.session.timeout.ms", "x", "Not a number of type INT"),
        ("consumer.session.timeout.ms", "0", "Value must be at least 1"),
        ("consumer.session.timeout.ms", "44999", ("must be greater than or equal to"
         " group.consumer.min.session.timeout.ms")),
        ("consumer.heartbeat.interval.ms", "15001", ("must be less than or equal to"
         " group.consumer.max.heartbeat.interval.ms")),
        ("share.assignment.interval.ms", "15001", ("must be less than or equal to"
         " group.share.max.assignment.interval.ms")),
        ("streams.num.standby.replicas", "3", ("must be less than or equal to"
         " group.streams.max.standby.replicas")),
        ("share.isolation.level", "x", "String must be one of: read_committed, read_uncommitted"),
        ("share.auto.offset.reset", "LATEST", "The value must be either 'earliest', 'latest'"),
    ],
)  # fmt: skip
def test_invalid_group_configs(name: str, value: str, text: str) -> None:
    with pytest.raises(InvalidConfig) as fault:
        check_group({name: value}, number)

    assert text in str(fault.value)


def test_server_keys_bound_group_configs() -> None:
    keys = {
        "group.consumer.max.session.timeout.ms": 90_000,
        "group.share.max.assignment.interval.ms": 5,
    }

    def moved(key: str) -> int:
        return keys.get(key, number(key))

    check_group({"consumer.session.timeout.ms": "90000"}, moved)
    with pytest.raises(InvalidConfig, match=r"less than or equal to group\.share\.max\.assignment"):
        check_group({"share.assignment.interval.ms": "6"}, moved)


def test_session_timeout_exceeds_heartbeat_interval() -> None:
    keys = {"group.consumer.max.heartbeat.interval.ms": 45_000}

    with pytest.raises(InvalidConfig, match=r"must be greater than consumer\.heartbeat"):
        check_group(
            {"consumer.heartbeat.interval.ms": "45000"}, lambda key: keys.get(key) or number(key)
        )


@pytest.mark.parametrize("duration", ["PT1H", "P2DT3H4.5S", "pt0s", "-PT-1H", "PT1H-30M", "P1D"])
def test_durations(duration: str) -> None:
    """As Java reads them."""
    check_group({"share.auto.offset.reset": f"by_duration:{duration}"}, number)


@pytest.mark.parametrize("duration", ["PT-1H", "PT-0.5S", "P", "PT", "P1DT", "1h", ""])
def test_invalid_durations(duration: str) -> None:
    """Those below zero, and those that Java does not read."""
    with pytest.raises(InvalidConfig):
        check_group({"share.auto.offset.reset": f"by_duration:{duration}"}, number)
