"""The registry: what is served, and that it says so."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper import handlers
from doorkeeper.handlers.registry import (
    APIS,
    OPTIONAL,
    RARE,
    ApiTable,
    Rare,
    RegisteredTwice,
    api_ranges,
    apis,
    by_key,
)

if TYPE_CHECKING:
    from doorkeeper.api.declaration import Api

ALWAYS = list(APIS.values())
ALL = [*ALWAYS, *OPTIONAL.values()]


def names(each: Api) -> str:
    """Name a case for its API."""
    return each.name


def sample(each: Api) -> Any:
    """Return a request that wants an answer: with acks 0 Produce does not."""
    return each.request(acks=1) if each.key == 0 else each.request()


NO_HANDLERS = {"config_alteration", "registry", "token_alteration", "typed_groups", "unserved"}
"""Modules beside the handlers: what several of them share, the list of them, and what has none."""


def test_every_handler_is_registered() -> None:
    """A module of handlers that the registry forgets would never be asked."""
    found = {
        importlib.import_module(f"doorkeeper.handlers.{module.name}").API
        for module in pkgutil.iter_modules(handlers.__path__)
        if module.name not in NO_HANDLERS
    }

    assert found == set(ALL)


def test_a_key_has_one_handler() -> None:
    """Two claims stop the import, and name both; a rare handler is not hidden by a usual one."""
    with pytest.raises(RegisteredTwice, match="key 3: Metadata and Metadata"):
        by_key([APIS[3], APIS[3]])
    with pytest.raises(RegisteredTwice, match="key 3: Metadata and a rare one"):
        ApiTable([APIS[3]], [Rare(3, "metadata", 0, 13)])


@pytest.mark.parametrize("each", RARE, ids=lambda each: each.module)
def test_a_rare_api_is_what_the_registry_says_of_it(each: Rare) -> None:
    """ApiVersions lists it before its module is imported."""
    api = each.load()

    assert each == (
        api.key,
        each.module,
        api.min_version,
        api.max_version,
        api.on_broker,
        api.on_controller,
    )
    assert APIS[each.key] is api


@pytest.mark.parametrize("each", ALL, ids=names)
def test_every_refusal_can_be_sent_in_every_version(each: Api) -> None:
    """An error in a request that decodes to nothing much is answered, and never leaks a text."""
    for version in range(each.min_version, each.max_version + 1):
        request, _ = each.request.decode(sample(each).encode(version), 0, version)

        refused = each.refuse(request, version, RuntimeError("a secret of the server"))

        assert refused is not None
        assert b"secret" not in refused.encode(version)


def test_some_are_served_only_where_that_is_asked_for() -> None:
    """JoinGroup, for an old librdkafka; never on listeners for controllers."""
    added = {each.api_key for each in api_ranges(controller=False, optional=True)} - set(APIS)

    assert added == set(OPTIONAL) == {11}
    assert apis().get(11) is None
    assert apis(optional=True).get(11) is OPTIONAL[11]
    assert apis(optional=True).get(29) is APIS[29]
    assert api_ranges(controller=True, optional=True) == api_ranges(controller=True)


def test_a_package_adds_apis_to_one_table() -> None:
    """A new API, and ones instead of a usual and a rare one, are added; others do not change."""
    listed = {each.api_key: each for each in APIS.ranges(controller=False)}
    fetch = APIS[3]._replace(key=1, name="Fetch", min_version=4, max_version=18)
    metadata, produce = (APIS[key]._replace(max_version=2) for key in (3, 0))

    table = APIS.with_apis([fetch, metadata, produce])

    assert [table[key] for key in (0, 1, 3)] == [produce, fetch, metadata]
    ranges = {each.api_key: each for each in table.ranges(controller=False)}
    assert ranges[1] == (1, 4, 18)
    assert ranges[0].max_version == ranges[3].max_version == 2
    assert ranges.keys() - listed.keys() == {1}
    assert 1 not in APIS
    with pytest.raises(RegisteredTwice, match="key 1: Fetch and Fetch"):
        APIS.with_apis([fetch, fetch])


def test_controllers_offer_what_kafkas_tools_ask_of_them() -> None:
    """No Metadata and no groups; ACLs, topics, configurations, and the cluster."""
    assert [each.api_key for each in api_ranges(controller=True)] == [
        17, 18, 19, 20, 29, 30, 31, 32, 33, 36, 37, 38, 39, 40, 41, 43, 44, 45,
        46, 49, 51, 55, 57, 60, 64,
    ]  # fmt: skip


def test_requests_find_their_api() -> None:
    """One that is usual, one that is rare, and none; again too."""
    find = apis().finder()

    for _ in range(2):
        assert [find(key) for key in (29, 37, 1)] == [APIS[29], APIS[37], None]
