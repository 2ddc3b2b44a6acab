"""The topics that a catalog declares."""

from __future__ import annotations

import pytest

from doorkeeper.server.resources.catalog.document import FaultList, parse
from doorkeeper.server.resources.catalog.topics import DeclaredTopic, read_topics


def read(text: str) -> tuple[list[DeclaredTopic], list[str]]:
    """Return the topics of a list, and what is wrong with it."""
    faults = FaultList("c")
    value = parse(text, faults)
    assert value is not None
    return read_topics(value), [f"{each.path}: {each.text}" for each in faults.problems]


def test_everything_can_be_said() -> None:
    """Settings may be numbers, booleans or texts."""
    topics, faults = read(
        "- name: orders\n  partitions: 3\n  replication_factor: 2\n  internal: true\n"
        "  configs:\n    retention.ms: 86400000\n    preallocate: yes\n"
        "    cleanup.policy: compact,delete\n"
    )

    assert faults == []
    assert topics == [
        DeclaredTopic(
            "orders",
            3,
            2,
            internal=True,
            configs={
                "retention.ms": "86400000",
                "preallocate": "true",
                "cleanup.policy": "compact,delete",
            },
        )
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- {}", "[0]: lacks name"),
        ("- name: a b", ("[0].name: Topic name is invalid: 'a b' contains one or more characters"
         " other than ASCII alphanumerics, '.', '_' and '-'")),
        ("- name: __cluster_metadata", "[0].name: the log of the controllers cannot be declared"),
        ("- {name: a, partitions: 0}",
         "[0].partitions: must be a whole number from 1 to 10000, not '0'"),
        ("- {name: a, partition: 3}", "[0].partition: unknown key; did you mean partitions?"),
        ("- {name: a, configs: {foo: 1}}", "[0].configs.foo: Unknown topic config name: foo"),
        ("- {name: a, configs: {retention.ms: x}}", ("[0].configs.retention.ms: Invalid value x"
         " for configuration retention.ms: Not a number of type LONG")),
        ("- {name: a, configs: {min.compaction.lag.ms: 2, max.compaction.lag.ms: 1}}",
         ("[0].configs: conflict topic config setting min.compaction.lag.ms (2) >"
         " max.compaction.lag.ms (1)")),
        ("- name: a.b\n- name: a.b\n", "[1].name: declared twice"),
        ("orders", ": must be a list, not 'orders'"),
        ("- ~", "[0]: must be a mapping, not nothing"),
        ("- name: no", "[0].name: must be a text, not 'no'; put quotes around it"),
        ("- name: ''", "[0].name: must not be empty"),
        ("- {name: a, name: b}", "[0].name: occurs twice"),
        ("- {name: a, [b]: 1}", "[0]: a key must be a single value"),
        ("- {name: a, internal: maybe}", "[0].internal: must be true or false, not 'maybe'"),
        ("- {name: a, partitions: 010}",
         "[0].partitions: must be a whole number from 1 to 10000, not '010'"),
        ("- {name: a, configs: {retention.ms: {b: 1}}}",
         "[0].configs.retention.ms: must be a single value, not a mapping"),
        (f"- {{name: a, configs: {{retention.ms: {'9' * 32768}}}}}",
         "[0].configs.retention.ms: takes 32768 bytes; at most 32767"),
    ],
)  # fmt: skip
def test_faults(text: str, fault: str) -> None:
    """Each with its place and what would be right."""
    assert read(text)[1] == [fault]
