"""The settings of a group, which have an effect with the test broker alone.

Source: the broker's ``GroupConfig`` (4.3.1); the texts of errors are its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from functools import cache
from typing import Final

from doorkeeper.server.resources.settings.topic import (
    InvalidConfig,
    TopicConfig,
    Value,
    checked_values,
    settings_of,
)

# The numbers of a duration of Java's; each may have a sign of its own.
_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]+)D)?"
    r"(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)

_BY_DURATION: Final = "by_duration:"


def _check_reset(name: str, value: Value) -> None:
    text = str(value)
    if text in ("earliest", "latest"):
        return
    if text.startswith(_BY_DURATION) and duration_ms(text.removeprefix(_BY_DURATION)) is not None:
        return
    raise InvalidConfig(
        f"Invalid value {text} for configuration {name}: Invalid value `{text}` for configuration"
        f" {name}. The value must be either 'earliest', 'latest' or of the format"
        " 'by_duration:<PnDTnHnMn.nS>'."
    )


def duration_ms(text: str) -> int | None:
    """Return a duration of Java's, in milliseconds; None of another text or a negative one."""
    match = _DURATION.fullmatch(text)
    if match is None or text[-1] in "PpTt":
        return None
    sign, days, _, hours, minutes, seconds, fraction = match.groups()
    whole = sum(
        int(number) * unit
        for number, unit in ((days, 86400), (hours, 3600), (minutes, 60), (seconds, 1))
        if number
    )
    nanoseconds = int((fraction or "").ljust(9, "0"))
    if seconds and seconds.startswith("-"):
        nanoseconds = -nanoseconds
    total = whole * 1_000_000_000 + nanoseconds
    total = -total if sign == "-" else total
    return total // 1_000_000 if total >= 0 else None


@cache
def group_settings() -> Mapping[str, TopicConfig]:
    """Return all settings by name, in the order in which a broker checks them."""
    return settings_of("group", {"offset reset": _check_reset})


_BOUNDED: Final = (
    ("consumer", "heartbeat.interval.ms"),
    ("consumer", "session.timeout.ms"),
    ("consumer", "assignment.interval.ms"),
    ("share", "heartbeat.interval.ms"),
    ("share", "session.timeout.ms"),
    ("share", "record.lock.duration.ms"),
    ("share", "delivery.count.limit"),
    ("share", "partition.max.record.locks"),
    ("share", "assignment.interval.ms"),
    ("streams", "heartbeat.interval.ms"),
    ("streams", "session.timeout.ms"),
    ("streams", "num.standby.replicas"),
    ("streams", "assignment.interval.ms"),
)
"""The settings that keys of the server bound, in the order in which a broker checks them."""


def check_group(texts: Mapping[str, str], number: Callable[[str], int]) -> None:
    """Validate the settings of a group: names, each value, bounds, sessions against heartbeats.

    ``number`` returns the value of a key of the server.
    """
    for name in texts:
        if name not in group_settings():
            raise InvalidConfig(f"Unknown group config name: {name}")
    values = checked_values(group_settings(), texts)

    def value_of(name: str) -> int:
        value = values.get(name)
        return value if isinstance(value, int) else number(f"group.{name}")

    _check_bounds(texts, value_of, number)
    for protocol in ("consumer", "share", "streams"):
        session, heartbeat = (
            f"{protocol}.session.timeout.ms",
            f"{protocol}.heartbeat.interval.ms",
        )
        if value_of(session) <= value_of(heartbeat):
            raise InvalidConfig(f"{session} must be greater than {heartbeat}")


def _check_bounds(
    texts: Container[str], value_of: Callable[[str], int], number: Callable[[str], int]
) -> None:
    for protocol, setting in _BOUNDED:
        name = f"{protocol}.{setting}"
        # The server has no value of its own for it.
        if setting == "assignment.interval.ms" and name not in texts:
            continue
        lowest, highest = (f"group.{protocol}.{word}.{setting}" for word in ("min", "max"))
        if setting == "num.standby.replicas":
            highest = "group.streams.max.standby.replicas"
        elif value_of(name) < number(lowest):
            raise InvalidConfig(f"{name} must be greater than or equal to {lowest}")
        if value_of(name) > number(highest):
            raise InvalidConfig(f"{name} must be less than or equal to {highest}")
