"""The regions of a verdict *sometimes*: each question is in one, and has its decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Question, allows
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper.acls.networks import network_of
from doorkeeper.acls.regions import Extent, single
from doorkeeper.acls.tasks import TaskNeed, regions_of
from testkit.question_worlds import ASKED, PRINCIPALS, policies, prefixes, scopes, worlds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.effective_changes import EffectiveChange
    from doorkeeper.acls.model import AclBinding

NAMES = ("a", "ax", "ab", "abx", "abc", "abcd", "abcdx", "b", "bx", "c", "cx", "*", "*x", "zz")
CLIENTS = ("10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.6", "200.1.1.1", "192.0.2.1")


def has_client(host: str, client: str) -> bool:
    """Say whether a client is one of a host: ``*``, an address, or a network."""
    if host in ("*", client):
        return True
    network, address = network_of(host), network_of(f"{client}/32")
    if network is None or address is None:
        return False
    return network.contains(address)


def has(region: EffectiveChange, name: str, client: str) -> bool:
    """Say whether a region has a question."""
    names, hosts = (region.names, *region.other_names), (region.host, *region.other_hosts)
    is_named, *excepted = (some.contains(single(name)) for some in names)
    is_from, *excepted_hosts = (has_client(host, client) for host in hosts)
    return is_named and is_from and not any(excepted) and not any(excepted_hosts)


@settings(max_examples=200)
@given(
    world=worlds,
    policy=policies,
    prefix=prefixes,
    host=scopes,
    principal=st.sampled_from((*PRINCIPALS, "User:c")),
    operation=st.sampled_from(ASKED),
    networks=st.booleans(),
)
def test_each_question_is_in_one_region_with_its_decision(
    world: Sequence[AclBinding],
    policy: Policy,
    prefix: str,
    host: str,
    principal: str,
    operation: AclOperation,
    *,
    networks: bool,
) -> None:
    """For all names with a prefix, and all clients of a host."""
    snapshot = load(("", each) for each in world).with_network_matching(enabled=networks)
    need = TaskNeed(operation, ResourceType.TOPIC, Extent(prefix))

    regions = regions_of(policy, snapshot, (principal,), host, need)[principal]

    assert [region.allowed for region in regions] == sorted(
        (region.allowed for region in regions), reverse=True
    )
    asker = "User:nobody" if principal == "User:*" else principal
    clients = [client for client in CLIENTS if has_client(host, client)]
    for name in NAMES:
        if not name.startswith(prefix):
            continue
        for client in clients:
            question = Question(asker, client, operation, ResourceType.TOPIC, name)
            found = [region for region in regions if has(region, name, client)]
            assert [region.allowed for region in found] == [allows(policy, snapshot, question)]
