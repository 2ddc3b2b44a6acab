"""Settings of groups and of client metrics."""

from __future__ import annotations

from doorkeeper.configs.group import CLIENT_METRICS_CONFIGS, GROUP_CONFIGS


def test_they_are_those_of_a_broker() -> None:
    """17 for a group, 3 for client metrics, sorted."""
    for table, size in ((GROUP_CONFIGS, 17), (CLIENT_METRICS_CONFIGS, 3)):
        names = [row.name for row in table]
        assert names == sorted(set(names))
        assert len(names) == size


def test_synonyms_are_the_servers_keys() -> None:
    """Those of the new protocol begin with group."""
    synonyms = {row.name: row.synonym for row in GROUP_CONFIGS}

    assert synonyms["consumer.session.timeout.ms"] == "group.consumer.session.timeout.ms"
    assert synonyms["share.auto.offset.reset"] == "share.auto.offset.reset"
    assert {row.synonym for row in CLIENT_METRICS_CONFIGS} == {None}
