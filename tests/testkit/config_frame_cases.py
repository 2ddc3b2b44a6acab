"""Scenarios of the requests that describe and change the keys of topics and brokers."""

from collections.abc import Iterator
from typing import Any

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


def config_scenarios() -> Iterator[Scenario]:
    """DescribeConfigs of topics and of things that are not there."""
    grants = create(creation(resource_name="t-one", operation=ALTER_CONFIGS))
    for version in range(1, 5):
        flags = {"include_synonyms": True} if version < 3 else {"include_documentation": False}

        few = ("cleanup.policy", "min.insync.replicas", "retention.ms", "no.such.key")
        steps = [
            ask_configs(version, 2, "t-one", few, **flags),
            ask_configs(version, 2, "absent", few),
            ask_configs(version, 2, "bad name!", few),
            ask_configs(version, 2, "", few),
            ask_configs(version, 2, "t-one", ()),
            ask_configs(version, 4, "1", ("no.such.key",)),
            ask_configs(version, 4, "7", few),
            ask_configs(version, 4, "x", few),
            ask_configs(version, 1, "t-one", few),
            ask_configs(version, 99, "t-one", few),
        ]
        told: dict[str, Any] = {"include_synonyms": True, "include_documentation": version >= 3}
        everything = ((2, "t-one"), (4, "1"), (4, ""), (8, "1"), (16, "none"), (32, "g-one"))
        steps += [ask_configs(version, kind, name, None, **told) for kind, name in everything]
        yield Scenario(f"DescribeConfigs {version}", (grants, *as_users(*steps)), ("t-one",))


def one_by_one(resource_type: int, name: str, version: int) -> Iterator[Step]:
    """Yield changes of one key each: every operation, good and bad values, odd names."""
    keys: dict[int, tuple[tuple[str, int, str | None], ...]] = {
        4: (
            ("max.connections.per.ip", 0, "5000"),
            ("max.connections.per.ip", 0, "x"),
            ("max.connections.per.ip", 0, "-5"),
            ("max.connections.per.ip", 0, ""),
            ("max.connections.per.ip", 0, None),
            ("max.connections.per.ip", 2, "1"),
            ("max.connections.per.ip", 3, "1"),
            ("max.connections.per.ip", 7, "1"),
            ("max.connections.per.ip", 1, None),
            ("node.id", 0, "7"),
            ("node.id", 1, None),
            ("connections.max.idle.ms", 0, "5000"),
            ("connections.max.reauth.ms", 0, "5000"),
            ("plugin.key", 0, "x"),
            ("plugin.key", 2, "x"),
            ("plugin.key", 1, None),
            ("log.cleaner.threads", 0, "x"),
            ("log.cleanup.policy", 0, "nonsense"),
            ("ssl.keystore.location", 0, "x"),
        ),
        2: (
            ("retention.ms", 0, "1000"),
            ("retention.ms", 0, "x"),
            ("retention.ms", 0, "-5"),
            ("retention.ms", 0, None),
            ("retention.ms", 2, "5"),
            ("retention.ms", 9, "5"),
            ("nope", 0, "1"),
            ("nope", 1, None),
            ("cleanup.policy", 2, "compact"),
            ("cleanup.policy", 3, "delete"),
            ("cleanup.policy", 2, "x"),
            ("min.insync.replicas", 0, "2"),
        ),
    }
    for key in keys[resource_type]:
        yield change_configs(version, (resource_type, name, (key,)))


def alteration_scenarios() -> Iterator[Scenario]:
    """IncrementalAlterConfigs of a broker, of the cluster and of topics, and who may not."""
    good = ("max.connections.per.ip", 0, "5000")
    kept = ("retention.ms", 0, "1000")
    for version in (0, 1):
        steps = (
            *one_by_one(4, "1", version),
            change_configs(version, (4, "7", (good,)), (4, "x", (good,)), (99, "x", (good,))),
            change_configs(version, (4, "1", (good, good)), (2, "t-one", (kept, kept))),
            change_configs(version, (2, "t-one", (kept,)), (2, "t-one", (kept,))),
            change_configs(version, (4, "1", (good,)), (4, "", (good,)), validate=True),
            change_configs(version, (4, "1", (("min.insync.replicas", 0, "2"),))),
            change_configs(version, (4, "", (("min.insync.replicas", 1, None),))),
            change_configs(version),
        )
        yield Scenario(f"broker's keys {version}", as_users(*steps))
        yield Scenario(f"the cluster's keys {version}", as_users(*one_by_one(4, "", version)))
        steps = (
            *one_by_one(2, "t-one", version),
            change_configs(version, (2, "absent", (kept,)), (2, "", (kept,)), (2, "bad!", (kept,))),
            change_configs(version, (2, "t-one", (kept,)), validate=True),
        )
        grants = create(creation(resource_name="t-one", operation=ALTER_CONFIGS))
        yield Scenario(f"topics' keys {version}", (grants, *as_users(*steps)), ("t-one",))


def replacement_scenarios() -> Iterator[Scenario]:
    """AlterConfigs: what is not named goes."""
    good: tuple[str, int, str | None] = ("max.connections.per.ip", 0, "5000")
    kept: tuple[str, int, str | None] = ("retention.ms", 0, "1000")
    for version in range(3):
        steps = (
            replace_configs(version, (4, "1", (good,)), (2, "t-one", (kept,))),
            replace_configs(version, (4, "1", (("node.id", 0, "7"),)), (99, "x", (good,))),
            replace_configs(version, (4, "7", (good,)), (4, "x", (good,)), (2, "absent", (kept,))),
            replace_configs(version, (2, "t-one", (("nope", 0, "1"),))),
            replace_configs(version, (2, "t-one", (("retention.ms", 0, None),))),
            replace_configs(version, (4, "1", (good, good))),
            replace_configs(version, (4, "1", ()), (2, "t-one", ())),
        )
        grants = create(creation(resource_name="t-one", operation=ALTER_CONFIGS))
        yield Scenario(f"replaced keys {version}", (grants, *as_users(*steps)), ("t-one",))


GROUP_CONFIGS, CLIENT_METRICS = 32, 16

_GROUP_CHANGES: tuple[tuple[tuple[str, int, str | None], ...], ...] = (
    (("consumer.session.timeout.ms", 0, "50000"),),
    (("consumer.session.timeout.ms", 0, "44999"),),
    (("consumer.session.timeout.ms", 0, "60001"),),
    (("consumer.session.timeout.ms", 0, "x"),),
    (("consumer.session.timeout.ms", 0, ""),),
    (("consumer.session.timeout.ms", 0, "0"),),
    (("consumer.session.timeout.ms", 0, " 50001 "),),
    (("consumer.heartbeat.interval.ms", 0, "15000"),),
    (("consumer.heartbeat.interval.ms", 0, "4999"),),
    (("consumer.heartbeat.interval.ms", 2, "1"),),
    (("consumer.heartbeat.interval.ms", 3, "1"),),
    (("consumer.heartbeat.interval.ms", 7, "1"),),
    (("consumer.heartbeat.interval.ms", 0, None),),
    (("consumer.heartbeat.interval.ms", 0, "6000"), ("consumer.heartbeat.interval.ms", 0, "7000")),
    (("consumer.assignment.interval.ms", 0, "15001"),),
    (("consumer.assignment.interval.ms", 0, "-1"),),
    (("share.session.timeout.ms", 0, "44999"),),
    (("share.heartbeat.interval.ms", 0, "15001"),),
    (("share.record.lock.duration.ms", 0, "14999"),),
    (("share.record.lock.duration.ms", 0, "999"),),
    (("share.record.lock.duration.ms", 0, "60001"),),
    (("share.delivery.count.limit", 0, "1"),),
    (("share.delivery.count.limit", 0, "11"),),
    (("share.partition.max.record.locks", 0, "99"),),
    (("share.partition.max.record.locks", 0, "4001"),),
    (("share.auto.offset.reset", 0, "earliest"),),
    (("share.auto.offset.reset", 0, "by_duration:PT1H"),),
    (("share.auto.offset.reset", 0, "by_duration:-PT1H"),),
    (("share.auto.offset.reset", 0, "by_duration:x"),),
    (("share.auto.offset.reset", 0, "by_duration:"),),
    (("share.auto.offset.reset", 0, "none"),),
    (("share.auto.offset.reset", 0, "LATEST"),),
    (("share.isolation.level", 0, "read_committed"),),
    (("share.isolation.level", 0, "READ_COMMITTED"),),
    (("share.renew.acknowledge.enable", 0, "false"),),
    (("share.renew.acknowledge.enable", 0, "no"),),
    (("share.assignment.interval.ms", 0, "15001"),),
    (("streams.session.timeout.ms", 0, "44999"),),
    (("streams.heartbeat.interval.ms", 0, "4999"),),
    (("streams.num.standby.replicas", 0, "3"),),
    (("streams.num.standby.replicas", 0, "-1"),),
    (("streams.num.standby.replicas", 0, "2"),),
    (("streams.initial.rebalance.delay.ms", 0, "-1"),),
    (("streams.assignment.interval.ms", 0, "0"),),
    (("no.such.key", 0, "1"),),
    (("no.such.key", 1, None),),
    (("", 0, "1"),),
    (("consumer.session.timeout.ms", 1, None),),
    (("share.delivery.count.limit", 0, "9"), ("no.such.key", 0, "1")),
    (),
)

_METRICS_CHANGES: tuple[tuple[tuple[str, int, str | None], ...], ...] = (
    (("interval.ms", 0, "100"),),
    (("interval.ms", 0, "99"),),
    (("interval.ms", 0, "3600000"),),
    (("interval.ms", 0, "3600001"),),
    (("interval.ms", 0, "x"),),
    (("interval.ms", 0, ""),),
    (("interval.ms", 0, None),),
    (("interval.ms", 2, "1"),),
    (("metrics", 0, "org.apache.kafka.producer.,org.apache.kafka.consumer."),),
    (("metrics", 0, "*"),),
    (("metrics", 0, ""),),
    (("metrics", 0, "a,,b"),),
    (("metrics", 0, "a,a"),),
    (("metrics", 0, " a , b "),),
    (("metrics", 2, "c"),),
    (("metrics", 2, "a,c"),),
    (("metrics", 3, "a"),),
    (("metrics", 3, "c,d"),),
    (("match", 0, "client_id=a.*"),),
    (("match", 0, "client_id=a.*,client_software_name=librdkafka"),),
    (("match", 0, "client_id = b"),),
    (("match", 0, "client_source_port=1"),),
    (("match", 0, "nonsense=1"),),
    (("match", 0, "client_id"),),
    (("match", 0, "client_id=("),),
    (("match", 0, "client_id="),),
    (("match", 0, "client_id=a=b"),),
    (("match", 0, ""),),
    (("match", 1, None),),
    (("no.such.key", 0, "1"),),
    (("no.such.key", 1, None),),
    (("metrics", 0, "a"), ("interval.ms", 0, "1")),
    (("metrics", 0, "a"), ("interval.ms", 0, "1000")),
)


_CHANGES = (
    (GROUP_CONFIGS, "g-conf", _GROUP_CHANGES),
    (CLIENT_METRICS, "m-conf", _METRICS_CHANGES),
)


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
