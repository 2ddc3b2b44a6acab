"""The settings of a subscription to client metrics (KIP-714), which have no effect.

Source: the broker's ``ClientMetricsConfigs`` (4.3.1); the texts of errors are its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.settings.topic import (
    InvalidConfig,
    TopicConfig,
    Value,
    checked_values,
    settings_of,
)
from doorkeeper.server.security.java_regex_parsing import PatternError, translate


def _check_items(name: str, value: Value) -> None:
    if isinstance(value, tuple) and "" in value:
        raise InvalidConfig(f"Configuration '{name}' values must not be empty.")


@cache
def client_metrics_settings() -> Mapping[str, TopicConfig]:
    """Return all settings by name, in the order in which a broker checks them."""
    return settings_of("client-metrics", {"items": _check_items})


_INTERVALS_MS: Final = range(100, 3_600_001)

_SELECTORS: Final = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def check_client_metrics(texts: Mapping[str, str]) -> None:
    """Validate the settings of a subscription: names, each value, then the interval and patterns.

    Raises:
        ApiError: a name is unknown, or the interval out of range.
        InvalidConfig: with the first other fault.
    """
    for name in texts:
        if name not in client_metrics_settings():
            text = f"Unknown client metrics configuration: {name}"
            raise ApiError(ErrorCode.INVALID_REQUEST, text)
    values = checked_values(client_metrics_settings(), texts)
    interval_ms = values.get("interval.ms")
    if interval_ms is not None and interval_ms not in _INTERVALS_MS:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval_ms} for interval.ms, interval must be between 100 and"
            " 3600000 (1 hour)",
        )
    patterns = values.get("match", ())
    for pattern in patterns if isinstance(patterns, tuple) else ():
        if not _is_pattern(pattern):
            raise InvalidConfig(f"Illegal client matching pattern: {pattern}")


def _is_pattern(text: str) -> bool:
    # As Java's split: empty parts at the end are dropped.
    parts = text.rstrip("=").split("=")
    if len(parts) != 2 or parts[0].strip() not in _SELECTORS:
        return False
    try:
        # Read, but never compiled: nothing is compared with it here.
        translate(parts[1].strip())
    except PatternError:
        return False
    return True
