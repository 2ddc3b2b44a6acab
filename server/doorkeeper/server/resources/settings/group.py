"""The settings of a group, which have an effect with the test broker alone.

Source: the broker's ``GroupConfig`` (4.3.1); the texts of errors are its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final

from msgspec import Struct

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


class _Bounds(Struct, frozen=True):
    """The keys of the server that bound a setting; an ``optional`` one only where it is given."""

    name: str
    lowest: str | None
    highest: str
    optional: bool = False


def _bounds(protocol: str, setting: str, *, optional: bool = False) -> _Bounds:
    lowest, highest = (f"group.{protocol}.{word}.{setting}" for word in ("min", "max"))
    return _Bounds(f"{protocol}.{setting}", lowest, highest, optional)


_interval = partial(_bounds, setting="assignment.interval.ms", optional=True)

_BOUNDS: Final = (
    _bounds("consumer", "heartbeat.interval.ms"),
    _bounds("consumer", "session.timeout.ms"),
    _interval("consumer"),
    _bounds("share", "heartbeat.interval.ms"),
    _bounds("share", "session.timeout.ms"),
    _bounds("share", "record.lock.duration.ms"),
    _bounds("share", "delivery.count.limit"),
    _bounds("share", "partition.max.record.locks"),
    _interval("share"),
    _bounds("streams", "heartbeat.interval.ms"),
    _bounds("streams", "session.timeout.ms"),
    _Bounds("streams.num.standby.replicas", None, "group.streams.max.standby.replicas"),
    _interval("streams"),
)
"""The bounds in the order in which a broker checks them."""


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

    for bounds in _BOUNDS:
        name, lowest = bounds.name, bounds.lowest
        if bounds.optional and name not in texts:
            continue
        if lowest is not None and value_of(name) < number(lowest):
            raise InvalidConfig(f"{name} must be greater than or equal to {lowest}")
        if value_of(name) > number(bounds.highest):
            raise InvalidConfig(f"{name} must be less than or equal to {bounds.highest}")
    for protocol in ("consumer", "share", "streams"):
        session, heartbeat = (
            f"{protocol}.session.timeout.ms",
            f"{protocol}.heartbeat.interval.ms",
        )
        if value_of(session) <= value_of(heartbeat):
            raise InvalidConfig(f"{session} must be greater than {heartbeat}")
