"""AlterConfigs and IncrementalAlterConfigs at random: resources and keys, good and odd.

A broker keeps what it is given when a sequence is over, so that it is asked only what it refuses or
what changes nothing. Topics are asked everything: they are deleted before the next sequence.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from doorkeeper.base.values import KeyType
from doorkeeper.server.resources.settings.topic import topic_settings
from doorkeeper_wire.messages import alter_configs, describe_configs, incremental_alter_configs
from testkit.frame_steps import Altered, Step, change_configs, replace_configs

TOPIC, BROKER, LOGGERS = 2, 4, 8
OTHER_TYPES = (LOGGERS, 16, 32, 0, 1, 3, 99, -1)
KNOWN = (TOPIC, BROKER, LOGGERS, 16, 32)
SET, DELETE, APPEND, SUBTRACT = range(4)
FEW = ("retention.ms", "cleanup.policy", "segment.bytes", "compression.type")
LISTS = tuple(row.name for row in topic_settings().values() if row.type is KeyType.LIST)
ODD_KEYS = ("no.such.key", "", "RETENTION.MS", " retention.ms", "log.retention.ms", "\u00e9")
FIXED_KEYS = ("node.id", "log.dirs", "process.roles", "broker.id", "num.partitions")
"""Keys of a broker that neither server changes without a restart."""

GOOD = {
    "cleanup.policy": ("compact", "delete", "compact,delete", "delete, compact", ""),
    "compression.type": ("gzip", "zstd", "producer", "uncompressed"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
    "leader.replication.throttled.replicas": ("*", "0:1", "0:1,1:1", ""),
    "follower.replication.throttled.replicas": ("*", "0:1", "0:1,1:1", ""),
    "min.insync.replicas": ("1", "2"),
    "segment.bytes": ("1048576", "2000000000"),
}
GOOD_OF_TYPE = {
    KeyType.BOOLEAN: ("true", "false", "TRUE", " false"),
    KeyType.INT: ("1", "5", "9", "4096", " 7 "),
    KeyType.LONG: ("1", "1000", "604800000", "9223372036854775807", "+5"),
    KeyType.DOUBLE: ("0.5", "0", "1", "1e-1", ".25"),
}
ODD_VALUES = (
    *("", " ", ",", "x", "soon", "-1", "-2", "-3", "0", "00", "1.5", "0x10", "1e3", "1_000"),
    *("2147483648", "-2147483649", "9" * 30, "9223372036854775808", "NaN", "Infinity", "5f"),
    *("compact,compact", "delete,", ",delete", "none", "GZIP", "yes", "0:1,", "*,0:1", "a:b"),
    *("\u0661", "\u00e9", "1\u00a0", "null", "[compact]"),
)


class RandomAlterations:
    """One stream of changes, drawn from the chance of its owner."""

    def __init__(self, chance: random.Random, topic: Callable[[], str]) -> None:
        self._chance = chance
        self._topic = topic

    def incremental(self) -> tuple[Any, Any, int, int]:
        """Return a request of the newer API, its answer and the versions that both have."""
        step = change_configs(1, *self._resources(operations=True), validate=self._maybe(0.2))
        return step.request, step.response, 0, 1

    def replacing(self) -> tuple[Any, Any, int, int]:
        """Return a request of the older API, its answer and the versions that both have."""
        step = replace_configs(2, *self._resources(operations=False))
        request = step.request.replace(validate_only=self._maybe(0.2))
        return request, step.response, 0, 2

    def _maybe(self, probability: float) -> bool:
        return self._chance.random() < probability

    def _resources(self, *, operations: bool) -> tuple[Altered, ...]:
        odd = self._chance.choice((0.0, 0.0, 0.1, 0.4))
        if operations and self._maybe(odd / 4):
            # It fails the whole request of a broker.
            code = self._chance.choice((4, 7, -1, 127))
            return ((TOPIC, self._topic(), ((self._chance.choice(FEW), code, "1"),)),)
        makers = (self._of_topic,) * 6 + (self._of_broker, self._of_other)
        found = [
            self._chance.choice(makers)(odd, operations=operations)
            for _ in range(self._chance.choice((0, 1, 1, 1, 2, 3)))
        ]
        if not operations:
            # A broker 4.3.1 never answers AlterConfigs that names a resource twice; all types that
            # it does not know are one to it.
            return tuple(
                {
                    (kind if kind in KNOWN else 0, name): (kind, name, keys)
                    for kind, name, keys in found
                }.values()
            )
        if found and self._maybe(odd / 2):
            found.append(self._chance.choice(found))
        return tuple(found)

    def _of_topic(self, odd: float, *, operations: bool) -> Altered:
        count = self._chance.choice((0, 1, 1, 1, 2, 4))
        # Of several faults a broker tells that which a hash table has first: at most one is made.
        first = [self._of_key(odd, operations=operations) for _ in range(min(count, 1))]
        others = [self._of_key(0.0, operations=operations) for _ in range(1, count)]
        keys = list({key[0]: key for key in (*others, *first)}.values())
        if keys and self._maybe(odd / 2):
            keys.append(self._chance.choice(keys))
        return TOPIC, self._topic(), tuple(keys)

    def _of_key(self, odd: float, *, operations: bool) -> tuple[str, int, str | None]:
        name = self._chance.choice(FEW if self._maybe(0.4) else tuple(topic_settings()))
        operation = self._chance.choice((SET, SET, SET, DELETE, APPEND)) if operations else SET
        if operation == APPEND:
            operation = self._chance.choice((APPEND, SUBTRACT))
            name = name if self._maybe(odd) else self._chance.choice(LISTS)
        if self._maybe(odd):
            name = self._chance.choice(ODD_KEYS)
        return name, operation, self._value(name, operation, odd)

    def _value(self, name: str, operation: int, odd: float) -> str | None:
        if operation == DELETE and self._maybe(0.7):
            return None
        if self._maybe(odd):
            return None if self._maybe(0.15) else self._chance.choice(ODD_VALUES)
        config = topic_settings().get(name)
        good: Sequence[str] = ("1",)
        if config is not None:
            good = GOOD.get(name, GOOD_OF_TYPE.get(config.type, good))
        return self._chance.choice(good)

    def _of_broker(self, odd: float, *, operations: bool) -> Altered:
        name = self._chance.choice(("7", "x", "01", "-1", "1 ") if self._maybe(odd) else ("1", ""))

        key = self._chance.choice(FIXED_KEYS)
        if self._maybe(0.2) and (operations or name):
            return BROKER, name, ()
        if operations and self._maybe(0.3):
            return BROKER, name, ((key, DELETE, None),)
        return BROKER, name, ((key, SET, self._chance.choice(("1", "x", ""))),)

    def _of_other(self, odd: float, *, operations: bool) -> Altered:
        kind = self._chance.choice(OTHER_TYPES)
        name = self._chance.choice(("1", "1", "7", "x") if kind == LOGGERS else ("none", "g-none"))
        return kind, name, (("no.such.key", SET, None if self._maybe(odd) else "1"),)


def told(request: Any) -> tuple[Step, ...]:
    """Return what asks for the settings of the topics that a change names: none or one step."""
    kinds = (
        alter_configs.AlterConfigsRequest,
        incremental_alter_configs.IncrementalAlterConfigsRequest,
    )
    if not isinstance(request, kinds):
        return ()
    names = {each.resource_name for each in request.resources if each.resource_type == TOPIC}
    if not names:
        return ()
    resources = tuple(
        describe_configs.DescribeConfigsResource(
            resource_type=TOPIC, resource_name=name, configuration_keys=None
        )
        for name in sorted(names)
    )
    asked = describe_configs.DescribeConfigsRequest(resources=resources, include_synonyms=True)
    return (Step(None, asked, describe_configs.DescribeConfigsResponse, 4),)
