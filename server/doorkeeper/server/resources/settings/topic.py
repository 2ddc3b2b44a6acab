"""The settings of a topic: names, types, defaults, valid values, from ``settings.json``.

They have no effect, but are validated, stored and described as by a broker, so that a tool that
creates a topic with a misspelt setting gets an error.

Source: the broker's ``LogConfig`` and ``TopicConfig`` (4.3.1); the texts of errors are those of its
``ConfigDef``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from doorkeeper.base.values import BOUNDS, KeyType, trim
from doorkeeper.server.config.settings import ConfigSource, Synonym

Value = bool | int | float | str | tuple[str, ...]
Check = Callable[[str, Value], None]


class InvalidConfig(ValueError):
    """An invalid setting of a topic; the text is the broker's."""


class TopicConfig(Struct, frozen=True):
    """A setting. ``synonym`` is the server's key with the same meaning, or None.

    A setting with the default None is described only if it was given.
    """

    name: str
    type: KeyType
    default: str | None
    doc: str
    synonym: str | None = None
    check: Check | None = None


def _invalid(name: str, value: object, reason: str) -> InvalidConfig:
    shown = _decimal(value) if isinstance(value, float) else value
    return InvalidConfig(f"Invalid value {shown} for configuration {name}: {reason}")


def _decimal(value: float) -> str:
    """Return a number as Java's Double.toString writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # Outside of this range Java writes an exponent.
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    from decimal import Decimal

    digits, exponent = f"{Decimal(repr(value)).normalize():E}".split("E")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def between(low: int, high: int | None) -> Check:
    """Return the check of a number's bounds; ``high`` may be None."""

    def check(name: str, value: Value) -> None:
        if isinstance(value, (int, float)) and value < low:
            raise _invalid(name, value, f"Value must be at least {low}")
        if high is not None and isinstance(value, (int, float)) and value > high:
            raise _invalid(name, value, f"Value must be no more than {high}")

    return check


def one_of(*allowed: str) -> Check:
    """Return the check of allowed words, of each item of a list."""

    def check(name: str, value: Value) -> None:
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(value, tuple) and not item:
                raise InvalidConfig(f"Configuration '{name}' values must not be empty.")
            if item not in allowed:
                raise _invalid(name, item, f"String must be one of: {', '.join(allowed)}")

    return check


def _gzip_level(name: str, value: Value) -> None:
    # -1 is the default level of zlib, and 0, no compression, is not allowed.
    if value != -1 and not (isinstance(value, int) and 1 <= value <= 9):
        raise _invalid(name, value, "Value must be between 1 and 9 or equal to -1")


_REPLICA = re.compile(r"(?:[0-9]+:[0-9]+)?")


def _check_throttled_replicas(name: str, value: Value) -> None:
    items = value if isinstance(value, tuple) else ()
    if "".join(items) == "*" or all(_REPLICA.fullmatch(item) for item in items):
        return
    raise _invalid(
        name,
        f"[{', '.join(items)}]",
        f"{name} must be the literal '*' or a list of replicas in the following format:"
        " [partitionId]:[brokerId],[partitionId]:[brokerId],...",
    )


# The checks that a row of the data names; the others are bounds and words.
_NAMED = {"gzip level": _gzip_level, "replicas": _check_throttled_replicas}


@cache
def _data() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    data: Mapping[str, Sequence[Mapping[str, Any]]] = json.loads(
        (Path(__file__).parent / "settings.json").read_text(encoding="utf-8")
    )
    return data


def settings_of(kind: str, checks: Mapping[str, Check]) -> dict[str, TopicConfig]:
    """Return the settings of a kind of resource by name, in the order in which a broker checks.

    They are rows of ``settings.json``; ``checks`` are the functions that rows name.
    """
    return {
        row["name"]: TopicConfig(
            row["name"],
            KeyType[row["type"]],
            row["default"],
            row["doc"],
            row.get("synonym"),
            _check_of(row, checks),
        )
        for row in _data()[kind]
    }


def _check_of(row: Mapping[str, Any], checks: Mapping[str, Check]) -> Check | None:
    if "check" in row:
        return checks[row["check"]]
    if "one_of" in row:
        return one_of(*row["one_of"])
    return between(row["min"], row.get("max")) if "min" in row else None


@cache
def topic_settings() -> Mapping[str, TopicConfig]:
    """Return all settings by name, in the order in which a broker checks them."""
    return settings_of("topic", _NAMED)


_WHOLE = re.compile(r"[+-]?\d{1,40}")
# Java's decimal numbers; hexadecimal ones are rejected.
_DECIMAL = re.compile(
    r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?"
)


def check_value(name: str, key_type: KeyType, text: str, like: TopicConfig | None) -> Value:
    """Parse a value; ``like`` is a topic's setting whose check also applies."""
    value = _parse(name, key_type, text)
    if like is not None and like.check is not None:
        like.check(name, value)
    return value


def checked_values(
    settings: Mapping[str, TopicConfig], values: Mapping[str, str]
) -> dict[str, Value]:
    """Return the values of given settings, checked in their order: the first fault is raised."""
    return {
        name: check_value(name, row.type, values[name], row)
        for name, row in settings.items()
        if name in values
    }


def _parse(name: str, key_type: KeyType, text: str) -> Value:
    trimmed = trim(text)
    if key_type is KeyType.BOOLEAN:
        if trimmed.lower() not in ("true", "false"):
            raise _invalid(name, text, "Expected value to be either true or false")
        return trimmed.lower() == "true"
    if key_type is KeyType.LIST:
        return tuple(trim(part) for part in trimmed.split(",")) if trimmed else ()
    if key_type not in BOUNDS and key_type is not KeyType.DOUBLE:
        return trimmed
    if key_type is KeyType.DOUBLE:
        decimal = _DECIMAL.fullmatch(trimmed)
        if decimal is not None:
            return float(decimal[1])
    else:
        low, high = BOUNDS[key_type]
        if _WHOLE.fullmatch(trimmed) and low <= int(trimmed) <= high:
            return int(trimmed)
    raise _invalid(name, text, f"Not a number of type {key_type.name}")


def display(config: TopicConfig, text: str) -> str:
    """Return the text of a valid value as DescribeConfigs returns it: trimmed and normalized.

    The internal setting, which has no default, is returned as given.
    """
    if config.default is None:
        return text
    value = _parse(config.name, config.type, text)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _decimal(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def check_configs(texts: Mapping[str, str]) -> None:
    """Validate the settings of a topic: the names, then each value, then their combinations.

    Values are checked in the order of Kafka's definitions.
    """
    # A broker reports unknown names before invalid values.
    for name in texts:
        if name not in topic_settings():
            raise InvalidConfig(f"Unknown topic config name: {name}")
    # ConfigDef parses in this order, and its first error is the response.
    values = checked_values(topic_settings(), texts)
    # The default of a broker: remote.log.storage.system.enable=false.
    if values.get("remote.storage.enable") is True:
        raise InvalidConfig(
            "Tiered Storage functionality is disabled in the broker."
            " Topic cannot be configured with remote log storage."
        )
    lag_min, lag_max = values.get("min.compaction.lag.ms", 0), values.get("max.compaction.lag.ms")
    if isinstance(lag_min, int) and isinstance(lag_max, int) and lag_min > lag_max:
        raise InvalidConfig(
            f"conflict topic config setting min.compaction.lag.ms ({lag_min}) >"
            f" max.compaction.lag.ms ({lag_max})"
        )


class Effective(NamedTuple):
    """A setting of a topic in effect; the source is a code of DescribeConfigs."""

    value: str
    source: ConfigSource
    synonyms: tuple[Synonym, ...]


def effective(
    values: Mapping[str, str], of_broker: Callable[[str], Sequence[Synonym]]
) -> dict[str, Effective]:
    """Return all settings of a topic, sorted: given ones, else the broker's, else the defaults.

    ``of_broker`` returns the values of a broker's key, the one in effect first.
    """
    rows = {}
    for name, config in sorted(topic_settings().items()):
        synonyms = []
        if name in values:
            synonyms.append(Synonym(name, values[name], ConfigSource.DYNAMIC_TOPIC_CONFIG))
        if config.synonym is not None:
            synonyms += of_broker(config.synonym)
            synonyms.append(Synonym(config.synonym, config.default, ConfigSource.DEFAULT_CONFIG))
        first = (
            synonyms[0] if synonyms else Synonym(name, config.default, ConfigSource.DEFAULT_CONFIG)
        )
        if first.value is not None:
            rows[name] = Effective(first.value, first.source, tuple(synonyms))
    return rows
