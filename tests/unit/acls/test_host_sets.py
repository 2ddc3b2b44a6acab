"""Hosts as sets of clients: nesting, and what several cover together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.acls.host_sets import (
    HostTable,
    contains,
    cover_of,
    host_classes,
    narrower,
)
from doorkeeper.acls.network_index import NO_NETWORKS

OVERLAPPING = (
    *("*", "10.0.0.0/8", "10.9.9.9/8", "10.0.0.0/16", "10.0.5.0/24", "10.0.5.7", "10.0.0.0"),
    *("0.0.0.0/0", "0.0.0.0", "::/0", "::/127", "0:0:0:0:0:0:0:1", "::1", "10.0.0.0/33", "name"),
)


@pytest.mark.parametrize(
    ("outer", "inner", "inside"),
    [
        ("*", "10.0.0.0/8", True),
        ("10.0.0.0/8", "*", False),
        ("10.0.0.0/8", "10.1.2.3/8", True),
        ("10.0.0.0/8", "10.3.0.0/16", True),
        ("10.0.0.0/8", "10.0.0.1", True),
        ("10.0.0.0/8", "0:0:0:0:0:0:0:1", False),
        ("10.0.0.0/8", "11.0.0.0/8", False),
        ("0.0.0.0/0", "0.0.0.0", False),
        ("::/0", "::1", False),
        ("10.0.0.0/33", "10.0.0.1", False),
        ("10.0.0.1", "10.0.0.1/32", False),
    ],
)
def test_host_containment_and_intersection(outer: str, inner: str, inside: bool) -> None:
    """Without networks only ``*`` contains another host; two have the narrower one in common."""
    assert contains(outer, inner, networks=True) is inside
    assert contains(outer, inner, networks=False) is (outer == "*")
    if inside and not contains(inner, outer, networks=True):
        assert narrower(outer, inner, networks=True) == inner
        assert (narrower(inner, outer, networks=False) == inner) is (outer == "*")


@pytest.mark.parametrize(
    ("host", "parts", "cover"),
    [
        ("10.0.0.0/8", ["10.0.0.0/9", "10.128.0.0/9"], ["10.0.0.0/9", "10.128.0.0/9"]),
        ("10.0.0.0/8", ["10.0.0.0/9", "10.128.0.0/10"], None),
        ("10.0.0.0/31", ["10.0.0.0", "10.0.0.1"], ["10.0.0.0", "10.0.0.1"]),
        ("0.0.0.0/31", ["0.0.0.1", "x"], ["0.0.0.1"]),
        ("::/127", ["0:0:0:0:0:0:0:0", "0:0:0:0:0:0:0:1"], None),
        ("::/127", ["::/128", "::1/128", "::0/128"], ["::/128", "::1/128"]),
        ("*", ["0.0.0.0/0", "::/0"], None),
    ],
)
def test_several_hosts_cover_a_network(
    host: str, parts: list[str], cover: list[str] | None
) -> None:
    networks = NO_NETWORKS.changed(dict.fromkeys(parts, 1))

    assert cover_of(host, networks, lambda part: part if part in parts else None) == cover


def test_host_classes_are_nested_and_have_a_client() -> None:
    hosts = ["10.0.0.0/8", "10.9.9.9/8", "10.0.0.0", "10.0.0.0/30", "0.0.0.0/0", "name"]
    halves = ["192.0.0.0/7", "192.0.0.0/8", "193.0.0.0/8"]

    classes = host_classes([*hosts, *halves], networks=True)
    parts = host_classes([*hosts, *halves], networks=True, within="10.0.0.0/24")

    assert [(each.host, each.client, each.parent) for each in classes] == [
        ("*", "2001:db8:0:0:0:0:0:1", -1),
        ("0.0.0.0/0", "0.0.0.1", 0),
        ("10.0.0.0/8", "10.0.0.4", 1),
        ("10.0.0.0/30", "10.0.0.1", 2),
        ("10.0.0.0", "10.0.0.0", 3),
        ("192.0.0.0/7", None, 1),
        ("192.0.0.0/8", "192.0.0.0", 5),
        ("193.0.0.0/8", "193.0.0.0", 5),
    ]
    assert [(each.host, each.client) for each in parts] == [
        ("10.0.0.0/24", "10.0.0.4"),
        ("10.0.0.0/30", "10.0.0.1"),
        ("10.0.0.0", "10.0.0.0"),
    ]
    assert [each.host for each in host_classes(["10.0.0.0/8", "10.0.0.1"], networks=False)] == [
        "*",
        "10.0.0.1",
    ]


@pytest.mark.parametrize(
    ("hosts", "client"),
    [
        (["10.0.0.1", "10.0.0.0/8"], "192.0.2.1"),
        (["0.0.0.0/1", "192.0.0.0/2", "128.0.0.0/3", "::/0"], "160.0.0.0"),
        (["0.0.0.0/0", "::/1"], "8000:0:0:0:0:0:0:0"),
        (["0.0.0.0/0", "::/0"], "0.0.0.0"),
        (["0.0.0.0/0", "::/0", "0.0.0.0"], None),
    ],
)
def test_client_outside_all_hosts(hosts: list[str], client: str | None) -> None:
    """It matches none of the hosts; 0.0.0.0 is in no network."""
    assert host_classes(hosts, networks=True)[0].client == client


@given(
    hosts=st.lists(st.sampled_from(OVERLAPPING), unique=True),
    host=st.sampled_from(OVERLAPPING),
    matches=st.booleans(),
)
def test_host_table_finds_overlapping_hosts(hosts: list[str], host: str, *, matches: bool) -> None:
    # The other host need not be one of the index.
    networks = NO_NETWORKS.changed(dict.fromkeys(hosts, 1)) if matches else None
    table = HostTable(((each, each) for each in hosts), networks)

    found = list(table.overlapping(host))

    shared = [each for each in hosts if narrower(each, host, networks=matches) is not None]
    assert sorted(found) == sorted(shared)
