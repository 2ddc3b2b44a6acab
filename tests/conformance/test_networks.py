"""Hosts with a slash: what Kafka 4.4 refuses, with its texts, and which clients it lets match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.networks import InvalidNetwork, address_of, network_of, parse_network
from testkit.java_lines import JavaLines
from testkit.kafka_jars import ORACLES, Unavailable, cannot, jars
from testkit.network_texts import CLIENTS, ODD, network_text

if TYPE_CHECKING:
    from testkit.oracle_totals import Totals

Ask = Callable[[Any], Any]

PORTION = 2000


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Give Kafka's checks of hosts."""
    try:
        lines = JavaLines(jars("4.4.0", ORACLES / "networks"), "NetworksOracle")
    except Unavailable as missing:
        cannot(str(missing))
    yield lines.ask
    lines.close()


def refusal(host: str) -> list[str] | None:
    """Return the class and text of the exception as Kafka would throw it."""
    if "/" not in host:
        return None
    try:
        parse_network(host)
    except InvalidNetwork as error:
        return ["InvalidRequestException", f"Invalid CIDR notation '{host}': {error}"]
    return None


def matches(host: str) -> list[int]:
    """Return 1 for each client that is in the network."""
    network = network_of(host)
    found = []
    for client in CLIENTS:
        address = address_of(client)
        found.append(int(network is not None and address is not None and network.contains(address)))
    return found


def compare(ask: Ask, totals: Totals, hosts: list[str]) -> int:
    """Compare both sides; return how many hosts are networks."""
    theirs = ask({"supported": True, "hosts": hosts, "clients": list(CLIENTS)})
    different = [
        (host, their, our)
        for host, their, our in zip(
            hosts,
            zip(theirs["refusals"], theirs["matches"], strict=True),
            ((refusal(host), matches(host)) for host in hosts),
            strict=True,
        )
        if their != our
    ]
    totals.compared["hosts with a slash of 4.4.0"] += len(hosts)
    totals.compared["clients matched with such hosts of 4.4.0"] += len(hosts) * len(CLIENTS)
    assert not different, "\n".join(map(str, different[:5]))
    return sum(map(any, theirs["matches"]))


def test_networks_are_rejected_and_matched_as_in_kafka(ask: Ask, totals: Totals) -> None:
    chance = Random(1276)
    compare(ask, totals, list(ODD))
    networks = sum(
        compare(ask, totals, [network_text(chance) for _ in range(PORTION)]) for _ in range(10)
    )

    assert networks > 2 * PORTION
