"""Which hosts of ACLs a client matches, after any changes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from doorkeeper.acls import network_index
from doorkeeper.acls.network_index import NO_NETWORKS
from doorkeeper.acls.networks import address_of, network_of

if TYPE_CHECKING:
    import pytest

    from doorkeeper.acls.index import Cell

HOSTS = (
    *("10.0.0.0/8", "10.1.2.3/8", "10.1.0.0/16", "10.1.0.0/32", "0.0.0.0/0", "11.0.0.0/8", "a/b"),
    *("::/0", "::/1", "::1/128", "2001:db8::/32", "10.0.0.0/33"),
)
CLIENTS = (
    "10.1.0.0",
    "10.2.0.0",
    "0.0.0.0",
    "11.1.1.1",
    "0:0:0:0:0:0:0:1",
    "ffff:0:0:0:0:0:0:1",
    "*",
)


@given(changes=st.lists(st.tuples(st.sampled_from(HOSTS), st.booleans()), max_size=30))
def test_network_index_matches_linear_scan(changes: list[tuple[str, bool]]) -> None:
    index, counts = NO_NETWORKS, Counter[str]()
    for host, adds in changes:
        if not adds and not counts[host]:
            continue
        counts[host] += 1 if adds else -1
        index = index.changed({host: 1 if adds else -1})
        for client in CLIENTS:
            address = address_of(client)
            around = {
                each
                for each, count in counts.items()
                if count
                and address is not None
                and (network := network_of(each)) is not None
                and network.contains(address)
            }
            assert index.matching(client) == {"*", client, *around}
    assert set(index) == {each for each, count in counts.items() if count and network_of(each)}


def test_network_matches_until_its_last_binding_is_deleted() -> None:
    two = NO_NETWORKS.changed({"10.0.0.0/8": 2, "host/8": 1})

    assert two.changed({"10.0.0.0/8": -1}).matching("10.0.0.1") == {"*", "10.0.0.1", "10.0.0.0/8"}
    assert two.changed({"10.0.0.0/8": -2}).matching("10.0.0.1") == {"*", "10.0.0.1"}
    assert not NO_NETWORKS.changed({"host/8": 1})


def test_cached_masks_match_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_index, "MASKS_MAX", 3)
    monkeypatch.setattr(network_index, "KNOWN_MAX", 2)
    index = NO_NETWORKS.changed({"10.0.0.0/8": 1, "::/0": 1})
    cells: list[Cell] = [5, Map({"10.0.0.0/8": 1, "*": 2}), Map({"::/0": 4, "10.0.0.1": 8})]

    for _ in range(2):
        assert [index.mask_for(each, "10.0.0.1") for each in cells] == [5, 3, 8]
        assert [index.mask_for(each, "10.0.0.2") for each in cells] == [5, 3, 0]
        assert [index.mask_for(each, "11.0.0.1") for each in cells] == [5, 2, 0]
        assert index.matching("10.0.0.1") == {"*", "10.0.0.1", "10.0.0.0/8"}
