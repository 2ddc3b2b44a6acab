"""The settings of a topic: names, types, defaults, valid values.

They have no effect, but are validated, stored and described as by a broker, so that a tool that
creates a topic with a misspelt setting gets an error.

Source: the broker's ``LogConfig`` and ``TopicConfig`` (4.3.1); the texts of errors are those of its
``ConfigDef``.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.base.values import INT_MAX, LONG_MAX, KeyType
from doorkeeper.server.config.settings import ConfigSource, Synonym

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Value = bool | int | float | str | tuple[str, ...]
    Check = Callable[[str, Value], None]


class InvalidConfig(ValueError):
    """An invalid setting of a topic; the text is the broker's."""


class TopicConfig(NamedTuple):
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
    told = _decimal(value) if isinstance(value, float) else value
    return InvalidConfig(f"Invalid value {told} for configuration {name}: {reason}")


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


def at_least(low: int) -> Check:
    """Return the check of a lowest value."""

    def check(name: str, value: Value) -> None:
        if isinstance(value, (int, float)) and value < low:
            raise _invalid(name, value, f"Value must be at least {low}")

    return check


def _between(low: int, high: int) -> Check:
    check_low = at_least(low)

    def check(name: str, value: Value) -> None:
        check_low(name, value)
        if isinstance(value, (int, float)) and value > high:
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


_BOOLEAN, _STRING, _INT = KeyType.BOOLEAN, KeyType.STRING, KeyType.INT
_LONG, _DOUBLE, _LIST = KeyType.LONG, KeyType.DOUBLE, KeyType.LIST
_NOT_NEGATIVE = at_least(0)
_FOREVER = str(LONG_MAX)
_DEFAULT = ConfigSource.DEFAULT_CONFIG

_ROWS = (
    TopicConfig(
        "cleanup.policy",
        _LIST,
        "delete",
        "What happens to old segments: delete them, compact them, both, or (empty) keep them.",
        "log.cleanup.policy",
        one_of("compact", "delete"),
    ),
    TopicConfig(
        "compression.gzip.level",
        _INT,
        "-1",
        "The level where compression.type is gzip; -1 is gzip's own default.",
        "compression.gzip.level",
        _gzip_level,
    ),
    TopicConfig(
        "compression.lz4.level",
        _INT,
        "9",
        "The level where compression.type is lz4.",
        "compression.lz4.level",
        _between(1, 17),
    ),
    TopicConfig(
        "compression.type",
        _STRING,
        "producer",
        "How batches are compressed in the log; producer keeps what the producer chose.",
        "compression.type",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    TopicConfig(
        "compression.zstd.level",
        _INT,
        "3",
        "The level where compression.type is zstd.",
        "compression.zstd.level",
        _between(-131072, 22),
    ),
    TopicConfig(
        "delete.retention.ms",
        _LONG,
        "86400000",
        "For how long a compacted topic keeps the marks of deleted keys.",
        "log.cleaner.delete.retention.ms",
        _NOT_NEGATIVE,
    ),
    TopicConfig(
        "file.delete.delay.ms",
        _LONG,
        "60000",
        "How long a segment's file outlives its segment.",
        "log.segment.delete.delay.ms",
        _NOT_NEGATIVE,
    ),
    TopicConfig(
        "flush.messages",
        _LONG,
        _FOREVER,
        "After how many records the log is forced to disk.",
        "log.flush.interval.messages",
        at_least(1),
    ),
    TopicConfig(
        "flush.ms",
        _LONG,
        _FOREVER,
        "After how long the log is forced to disk.",
        None,
        _NOT_NEGATIVE,
    ),
    TopicConfig(
        "follower.replication.throttled.replicas",
        _LIST,
        "",
        "Replicas whose followers are throttled: partition:broker pairs, or *.",
        None,
        _check_throttled_replicas,
    ),
    TopicConfig(
        "index.interval.bytes",
        _INT,
        "4096",
        "After how many bytes of the log its index gets an entry.",
        "log.index.interval.bytes",
        _NOT_NEGATIVE,
    ),
    TopicConfig(
        "internal.segment.bytes",
        _INT,
        None,
        "As segment.bytes, without its lower bound; for tests of brokers.",
    ),
    TopicConfig(
        "leader.replication.throttled.replicas",
        _LIST,
        "",
        "Replicas whose leaders are throttled: partition:broker pairs, or *.",
        None,
        _check_throttled_replicas,
    ),
    TopicConfig(
        "local.retention.bytes",
        _LONG,
        "-2",
        "How large the local part of a tiered log may grow; -2 stands for retention.bytes.",
        "log.local.retention.bytes",
        at_least(-2),
    ),
    TopicConfig(
        "local.retention.ms",
        _LONG,
        "-2",
        "How long the local part of a tiered log is kept; -2 stands for retention.ms.",
        "log.local.retention.ms",
        at_least(-2),
    ),
    TopicConfig(
        "max.compaction.lag.ms",
        _LONG,
        _FOREVER,
        "After how long a record must be compacted at the latest.",
        "log.cleaner.max.compaction.lag.ms",
        at_least(1),
    ),
    TopicConfig(
        "max.message.bytes",
        _INT,
        "1048588",
        "The largest batch that is taken, compressed.",
        "message.max.bytes",
        _NOT_NEGATIVE,
    ),
    TopicConfig(
        "message.timestamp.after.max.ms",
        _LONG,
        "3600000",
        "How far ahead of the broker's clock a record may be.",
        "log.message.timestamp.after.max.ms",
        _NOT_NEGATIVE,
    ),
    TopicConfig(
        "message.timestamp.before.max.ms",
        _LONG,
        _FOREVER,
        "How far behind the broker's clock a record may be.",
        "log.message.timestamp.before.max.ms",
        _NOT_NEGATIVE,
    ),
    TopicConfig(
        "message.timestamp.type",
        _STRING,
        "CreateTime",
        "Whose time a record carries: the producer's or the log's.",
        "log.message.timestamp.type",
        one_of("CreateTime", "LogAppendTime"),
    ),
    TopicConfig(
        "min.cleanable.dirty.ratio",
        _DOUBLE,
        "0.5",
        "Which share of the log must be dirty before it is compacted.",
        "log.cleaner.min.cleanable.ratio",
        _between(0, 1),
    ),
    TopicConfig(
        "min.compaction.lag.ms",
        _LONG,
        "0",
        "For how long a record is not compacted.",
        "log.cleaner.min.compaction.lag.ms",
        _NOT_NEGATIVE,
    ),
    TopicConfig(
        "min.insync.replicas",
        _INT,
        "1",
        "How many replicas must have a record before a producer with acks=all is answered.",
        "min.insync.replicas",
        at_least(1),
    ),
    TopicConfig(
        "preallocate",
        _BOOLEAN,
        "false",
        "Whether a new segment's file gets its full size at once.",
        "log.preallocate",
    ),
    TopicConfig(
        "remote.log.copy.disable",
        _BOOLEAN,
        "false",
        "Whether nothing more is copied to tiered storage.",
    ),
    TopicConfig(
        "remote.log.delete.on.disable",
        _BOOLEAN,
        "false",
        "Whether the tiered part of the log goes when tiered storage is turned off.",
    ),
    TopicConfig(
        "remote.storage.enable",
        _BOOLEAN,
        "false",
        "Whether the log may be tiered; no server without tiered storage takes true.",
    ),
    TopicConfig(
        "retention.bytes",
        _LONG,
        "-1",
        "How large a partition may grow before old segments go; -1 for no limit.",
        "log.retention.bytes",
    ),
    TopicConfig(
        "retention.ms",
        _LONG,
        "604800000",
        "How long records are kept; -1 for ever.",
        None,
        at_least(-1),
    ),
    TopicConfig(
        "segment.bytes",
        _INT,
        "1073741824",
        "The size of a segment's file.",
        "log.segment.bytes",
        at_least(1024 * 1024),
    ),
    TopicConfig(
        "segment.index.bytes",
        _INT,
        "10485760",
        "The size of a segment's index.",
        "log.index.size.max.bytes",
        at_least(4),
    ),
    TopicConfig(
        "segment.jitter.ms",
        _LONG,
        "0",
        "By how much the time of a new segment may vary.",
        None,
        _NOT_NEGATIVE,
    ),
    TopicConfig(
        "segment.ms",
        _LONG,
        "604800000",
        "After how long a new segment begins although the old one is not full.",
        None,
        at_least(1),
    ),
    TopicConfig(
        "unclean.leader.election.enable",
        _BOOLEAN,
        "false",
        "Whether a replica that is not in sync may lead, at the price of lost records.",
        "unclean.leader.election.enable",
    ),
)

TOPIC_CONFIGS: dict[str, TopicConfig] = {row.name: row for row in _ROWS}

# Of several bad values the first in this order is told.
_CHECKED_IN_ORDER = [
    "segment.bytes",
    "segment.ms",
    "segment.jitter.ms",
    "segment.index.bytes",
    "flush.messages",
    "flush.ms",
    "retention.bytes",
    "retention.ms",
    "max.message.bytes",
    "index.interval.bytes",
    "delete.retention.ms",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "file.delete.delay.ms",
    "min.cleanable.dirty.ratio",
    "cleanup.policy",
    "unclean.leader.election.enable",
    "min.insync.replicas",
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "preallocate",
    "message.timestamp.type",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "remote.storage.enable",
    "local.retention.ms",
    "local.retention.bytes",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "internal.segment.bytes",
]
"""All settings by name, sorted."""

_BOUNDS = {
    KeyType.SHORT: (-(2**15), 2**15 - 1),
    _INT: (-(2**31), INT_MAX),
    _LONG: (-(2**63), LONG_MAX),
}
# The characters that Java's trim removes; a no-break space is not among them.
_SPACE = "".join(map(chr, range(0x21)))
_WHOLE = re.compile(r"[+-]?\d{1,40}")
# Java's decimal numbers; hexadecimal ones are rejected.
_DECIMAL = re.compile(
    r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?"
)


def check_value(name: str, key_type: KeyType, text: str, like: TopicConfig | None) -> Value:
    """Parse a value; ``like`` is a topic's setting whose check also applies.

    Raises:
        InvalidConfig: the text is not of the type, or not valid.

    """
    value = _parse(name, key_type, text)
    if like is not None and like.check is not None:
        like.check(name, value)
    return value


def _parse(name: str, key_type: KeyType, text: str) -> Value:
    trimmed = text.strip(_SPACE)
    if key_type is _BOOLEAN:
        if trimmed.lower() not in ("true", "false"):
            raise _invalid(name, text, "Expected value to be either true or false")
        return trimmed.lower() == "true"
    if key_type is _LIST:
        return tuple(part.strip(_SPACE) for part in trimmed.split(",")) if trimmed else ()
    if key_type not in _BOUNDS and key_type is not _DOUBLE:
        return trimmed
    if key_type is _DOUBLE:
        decimal = _DECIMAL.fullmatch(trimmed)
        if decimal is not None:
            return float(decimal[1])
    else:
        low, high = _BOUNDS[key_type]
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


def check_configs(given: Mapping[str, str]) -> None:
    """Validate the settings of a topic: the names, then each value, then their combinations.

    Values are checked in the order of Kafka's definitions.

    Raises:
        InvalidConfig: with the first fault.

    """
    # A broker reports unknown names before invalid values.
    for name in given:
        if name not in TOPIC_CONFIGS:
            raise InvalidConfig(f"Unknown topic config name: {name}")
    values: dict[str, Value] = {}
    # ConfigDef parses in this order, and its first error is the response.
    for name in _CHECKED_IN_ORDER:
        if name in given:
            config = TOPIC_CONFIGS[name]
            values[name] = check_value(name, config.type, given[name], config)
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
    given: Mapping[str, str], of_broker: Callable[[str], Sequence[Synonym]]
) -> dict[str, Effective]:
    """Return all settings of a topic, sorted: given ones, else the broker's, else the defaults.

    ``of_broker`` returns the values of a broker's key, the one in effect first.
    """
    rows = {}
    for name, config in TOPIC_CONFIGS.items():
        synonyms = []
        if name in given:
            synonyms.append(Synonym(name, given[name], ConfigSource.DYNAMIC_TOPIC_CONFIG))
        if config.synonym is not None:
            synonyms += of_broker(config.synonym)
            synonyms.append(Synonym(config.synonym, config.default, ConfigSource.DEFAULT_CONFIG))
        first = synonyms[0] if synonyms else Synonym(name, config.default, _DEFAULT)
        if first.value is not None:
            rows[name] = Effective(first.value, first.source, tuple(synonyms))
    return rows
