"""Settings of subscriptions to client metrics."""

from __future__ import annotations

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.settings.client_metrics import (
    check_client_metrics,
    client_metrics_settings,
)
from doorkeeper.server.resources.settings.topic import InvalidConfig


def test_client_metrics_configs_match_the_broker() -> None:
    assert sorted(client_metrics_settings()) == ["interval.ms", "match", "metrics"]
    assert {row.synonym for row in client_metrics_settings().values()} == {None}
    check_client_metrics(
        {name: row.default or "" for name, row in client_metrics_settings().items()}
    )


@pytest.mark.parametrize(
    "match",
    ["", "client_id=a.*", "client_id = b", "client_software_name=x,client_source_port=[0-9]+"],
)
def test_match_patterns(match: str) -> None:
    check_client_metrics({"match": match, "metrics": "*", "interval.ms": "100"})


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("match", "nonsense=1", "Illegal client matching pattern: nonsense=1"),
        ("match", "client_id=", "Illegal client matching pattern: client_id="),
        ("match", "client_id=(", "Illegal client matching pattern: client_id=("),
        ("match", "client_id=(?i)" + "[\x01-\uffff]" * 1_000, "Illegal client matching pattern"),
        ("metrics", "a,,b", "Configuration 'metrics' values must not be empty."),
        ("interval.ms", "", "Invalid value  for configuration interval.ms: Not a number of type"),
    ],
)
def test_invalid_config_values(name: str, value: str, text: str) -> None:
    with pytest.raises(InvalidConfig) as fault:
        check_client_metrics({name: value})

    assert str(fault.value).startswith(text)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("no.such.key", "1", "Unknown client metrics configuration: no.such.key"),
        ("interval.ms", "99", ("Invalid value 99 for interval.ms, interval must be between 100 and"
         " 3600000 (1 hour)")),
        ("interval.ms", "3600001", ("Invalid value 3600001 for interval.ms, interval must be"
         " between 100 and 3600000 (1 hour)")),
    ],
)  # fmt: skip
def test_invalid_requests(name: str, value: str, text: str) -> None:
    with pytest.raises(ApiError) as fault:
        check_client_metrics({name: value})

    assert (fault.value.code, str(fault.value)) == (ErrorCode.INVALID_REQUEST, text)
