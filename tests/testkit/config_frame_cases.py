"""Scenarios of keys of brokers, groups and client metrics; ``random_alterations`` has topics."""

from collections.abc import Iterator, Mapping

from doorkeeper_wire.messages import list_config_resources
from testkit.frame_steps import (
    ALTER_CONFIGS,
    Scenario,
    Step,
    as_users,
    ask_configs,
    change_configs,
    create,
    creation,
    replace_configs,
)

BROKER, CLIENT_METRICS, GROUP_CONFIGS = 4, 16, 32
SET, DELETE = 0, 1

Change = tuple[str, int, str | None]
"""A key, an operation and a value."""

BROKER_CHANGES: tuple[Change, ...] = (
    *(("max.connections.per.ip", SET, value) for value in ("5000", "x", "-5", "", None)),
    *(("max.connections.per.ip", operation, "1") for operation in (2, 3, 7)),
    ("max.connections.per.ip", DELETE, None),
    ("node.id", SET, "7"),
    ("node.id", DELETE, None),
    ("connections.max.idle.ms", SET, "5000"),
    ("connections.max.reauth.ms", SET, "5000"),
    ("plugin.key", SET, "x"),
    ("plugin.key", 2, "x"),
    ("plugin.key", DELETE, None),
    ("log.cleaner.threads", SET, "x"),
    ("log.cleanup.policy", SET, "nonsense"),
    ("ssl.keystore.location", SET, "x"),
)

_GROUP_VALUES: Mapping[str, tuple[str | None, ...]] = {
    "consumer.session.timeout.ms": ("50000", "44999", "60001", "x", "", "0", " 50001 "),
    "consumer.heartbeat.interval.ms": ("15000", "4999", None),
    "consumer.assignment.interval.ms": ("15001", "-1"),
    "share.session.timeout.ms": ("44999",),
    "share.heartbeat.interval.ms": ("15001",),
    "share.record.lock.duration.ms": ("14999", "999", "60001"),
    "share.delivery.count.limit": ("1", "11"),
    "share.partition.max.record.locks": ("99", "4001"),
    "share.auto.offset.reset": (
        *("earliest", "by_duration:PT1H", "by_duration:-PT1H", "by_duration:x", "by_duration:"),
        *("none", "LATEST"),
    ),
    "share.isolation.level": ("read_committed", "READ_COMMITTED"),
    "share.renew.acknowledge.enable": ("false", "no"),
    "share.assignment.interval.ms": ("15001",),
    "streams.session.timeout.ms": ("44999",),
    "streams.heartbeat.interval.ms": ("4999",),
    "streams.num.standby.replicas": ("3", "-1", "2"),
    "streams.initial.rebalance.delay.ms": ("-1",),
    "streams.assignment.interval.ms": ("0",),
    "no.such.key": ("1",),
    "": ("1",),
}
_METRICS_VALUES: Mapping[str, tuple[str | None, ...]] = {
    "interval.ms": ("100", "99", "3600000", "3600001", "x", "", None),
    "metrics": (
        *("org.apache.kafka.producer.,org.apache.kafka.consumer.", "*", "", "a,,b", "a,a"),
        " a , b ",
    ),
    "match": (
        *("client_id=a.*", "client_id=a.*,client_software_name=librdkafka", "client_id = b"),
        *("client_source_port=1", "nonsense=1", "client_id", "client_id=(", "client_id="),
        *("client_id=a=b", ""),
    ),
    "no.such.key": ("1",),
}


def _values(table: Mapping[str, tuple[str | None, ...]]) -> tuple[tuple[Change, ...], ...]:
    return tuple(((key, SET, value),) for key, values in table.items() for value in values)


_HEARTBEAT, _SESSION = "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms"
_CHANGES: tuple[tuple[int, str, tuple[tuple[Change, ...], ...]], ...] = (
    (
        GROUP_CONFIGS,
        "g-conf",
        (
            *_values(_GROUP_VALUES),
            *(((_HEARTBEAT, operation, "1"),) for operation in (2, 3, 7)),
            ((_HEARTBEAT, SET, "6000"), (_HEARTBEAT, SET, "7000")),
            ((_SESSION, DELETE, None),),
            (("no.such.key", DELETE, None),),
            (("share.delivery.count.limit", SET, "9"), ("no.such.key", SET, "1")),
            (),
        ),
    ),
    (
        CLIENT_METRICS,
        "m-conf",
        (
            *_values(_METRICS_VALUES),
            (("interval.ms", 2, "1"),),
            *(((("metrics", operation, value),)) for operation in (2, 3) for value in ("c", "a,c")),
            (("match", DELETE, None),),
            (("no.such.key", DELETE, None),),
            (("metrics", SET, "a"), ("interval.ms", SET, "1")),
            (("metrics", SET, "a"), ("interval.ms", SET, "1000")),
        ),
    ),
)


def config_scenarios() -> Iterator[Scenario]:
    """Keys of brokers and of the cluster, then those of groups and of client metrics."""
    good = ("max.connections.per.ip", SET, "5000")
    everything = ((2, "t-one"), (4, "1"), (4, ""), (8, "1"), (16, "none"), (32, "g-one"))
    for version in (1, 4):
        flags = {"include_synonyms": True, "include_documentation": version >= 3}
        asked = [ask_configs(version, kind, name, None, **flags) for kind, name in everything]
        yield Scenario(f"DescribeConfigs {version}", as_users(*asked), ("t-one",))
    one_by_one = {
        name: [change_configs(1, (BROKER, name, (change,))) for change in BROKER_CHANGES]
        for name in ("1", "")
    }
    steps = (
        *one_by_one["1"],
        change_configs(1, (4, "7", (good,)), (4, "x", (good,)), (99, "x", (good,))),
        change_configs(1, (4, "1", (good, good))),
        change_configs(1, (4, "1", (good,)), (4, "", (good,)), validate=True),
        change_configs(1, (4, "1", (("min.insync.replicas", SET, "2"),))),
        change_configs(1, (4, "", (("min.insync.replicas", DELETE, None),))),
        replace_configs(2, (4, "1", (good,))),
        replace_configs(2, (4, "1", (("node.id", SET, "7"),)), (99, "x", (good,))),
        replace_configs(2, (4, "7", (good,)), (4, "x", (good,))),
        replace_configs(2, (4, "1", (good, good))),
        replace_configs(2, (4, "1", ())),
    )
    yield Scenario("a broker's keys", as_users(*steps))
    yield Scenario("the cluster's keys", as_users(*one_by_one[""]))
    yield from resource_config_scenarios()


def resource_config_scenarios() -> Iterator[Scenario]:
    """Configurations of groups and of subscriptions to client metrics: changed and described."""
    for kind, name, changes in _CHANGES:
        removal = replace_configs(1, (kind, name, ()))
        described = ask_configs(4, kind, name, None, include_synonyms=True)
        listed = Step(
            None,
            list_config_resources.ListConfigResourcesRequest(resource_types=(kind,)),
            list_config_resources.ListConfigResourcesResponse,
            1,
        )
        for validate in (True, False):
            alterations = (change_configs(1, (kind, name, c), validate=validate) for c in changes)
            steps = [step for each in alterations for step in (each, described)]
            steps += [listed, change_configs(1, (kind, "", changes[0]), validate=validate)]
            what = "checked" if validate else "changed"
            yield Scenario(f"resources {kind} {what}", (*steps, removal, described, listed))
        replaced = [
            step
            for change in changes
            for step in (replace_configs(1, (kind, name, change)), described)
        ]
        yield Scenario(f"resources {kind} replaced", (*replaced, removal))
        grants = create(
            creation(resource_type=3, resource_name=name, operation=ALTER_CONFIGS),
            creation(
                resource_type=4,
                resource_name="kafka-cluster",
                operation=ALTER_CONFIGS,
                principal="User:bob",
            ),
        )
        several = change_configs(0, (kind, name, changes[0]), (kind, name, changes[1]))
        both = change_configs(1, (kind, name, changes[0]), (kind, "other", changes[1]))
        asked = (both, several, replace_configs(0, (kind, name, changes[0])), described)
        yield Scenario(f"resources {kind} granted", (grants, *as_users(*asked), removal))
