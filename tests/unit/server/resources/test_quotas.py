"""Client quotas: the model and the filters that select entities.

Source: Kafka's ClientQuotasImageTest and ClientQuotasRequestTest (4.3.1).
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.base.errors import ApiError
from doorkeeper.server.resources.quotas import (
    ClientQuotas,
    Entity,
    describe,
    entity_of,
    entity_text,
    quota_filter,
)
from doorkeeper.server.schema.declared import StoredQuota

EXACT, DEFAULT, SPECIFIED = range(3)
ALICE, BOB, ANY_USER = (entity_of([("user", name)]) for name in ("alice", "bob", None))
APP, ANY_CLIENT = (entity_of([("client-id", name)]) for name in ("app", None))
ALICE_APP = entity_of([("user", "alice"), ("client-id", "app")])
ALICE_ANY = entity_of([("user", "alice"), ("client-id", None)])
ADDRESS, ANY_IP = (entity_of([("ip", name)]) for name in ("10.0.0.1", None))
ENTITIES = (ALICE, BOB, ANY_USER, APP, ANY_CLIENT, ALICE_APP, ALICE_ANY, ADDRESS, ANY_IP)
NAMES = st.one_of(st.none(), st.text(max_size=5))


def row(entity: Entity, name: str = "request_percentage", value: float = 1.0) -> StoredQuota:
    return StoredQuota(entity_text(entity), name, value)


QUOTAS = ClientQuotas().with_changes([row(entity) for entity in ENTITIES], [])


def selected(*components: tuple[str, int, str | None], strict: bool = False) -> set[Entity]:
    found = [entity for entity, _ in describe(QUOTAS, quota_filter(components, strict=strict))]
    assert len(set(found)) == len(found)
    return set(found)


@given(st.dictionaries(st.sampled_from(["user", "client-id", "ip"]), NAMES, min_size=1))
def test_stored_entities_are_found(names: dict[str, str | None]) -> None:
    entity = entity_of(names.items())

    quotas = ClientQuotas().with_changes([row(entity)], [])

    assert dict(quotas.of(entity)) == {"request_percentage": 1.0}
    assert [each for each, _ in quotas] == [entity]
    assert entity_text(ANY_USER) != entity_text(entity_of([("user", "null")]))


def test_quotas_are_set_and_deleted() -> None:
    one = ClientQuotas().with_changes(
        [row(ALICE, "b", 2), row(ALICE, "a", 1), row(BOB, "a", 3), row(ANY_USER, "a", 4)], []
    )

    two = one.with_changes([row(ALICE, "a", 5)], [row(ALICE, "b", 2), row(BOB, "a", 3), row(APP)])

    users = quota_filter([("user", SPECIFIED, None)], strict=True)
    assert describe(two, users) == [(ANY_USER, [("a", 4)]), (ALICE, [("a", 5)])]
    assert dict(two.of(BOB)) == {}
    assert describe(one, users)[1:] == [(ALICE, [("a", 1), ("b", 2)]), (BOB, [("a", 3)])]


@pytest.mark.parametrize(
    ("component", "loose", "strict"),
    [
        (("user", EXACT, "alice"), {ALICE, ALICE_APP, ALICE_ANY}, {ALICE}),
        (("user", DEFAULT, None), {ANY_USER}, {ANY_USER}),
        (
            ("user", SPECIFIED, None),
            {ALICE, BOB, ANY_USER, ALICE_APP, ALICE_ANY},
            {ALICE, BOB, ANY_USER},
        ),
        (("client-id", EXACT, "app"), {APP, ALICE_APP}, {APP}),
        (("client-id", DEFAULT, None), {ANY_CLIENT, ALICE_ANY}, {ANY_CLIENT}),
        (("ip", SPECIFIED, None), {ADDRESS, ANY_IP}, {ADDRESS, ANY_IP}),
        (("user", EXACT, "nobody"), set(), set()),
    ],
)
def test_filter_with_one_component(
    component: tuple[str, int, str | None], loose: set[Entity], strict: set[Entity]
) -> None:
    assert selected(component) == loose
    assert selected(component, strict=True) == strict


def test_filter_with_several_components() -> None:
    user, client = ("user", EXACT, "alice"), ("client-id", SPECIFIED, None)

    for strict in (False, True):
        assert selected(user, client, strict=strict) == {ALICE_APP, ALICE_ANY}
        assert selected(user, ("client-id", DEFAULT, None), strict=strict) == {ALICE_ANY}
    assert selected() == set(ENTITIES)
    assert selected(strict=True) == set()


def test_ip_component_excludes_others() -> None:
    user, client, address = ((kind, SPECIFIED, None) for kind in ("user", "client-id", "ip"))

    assert quota_filter([user, client], strict=False).specified == {"user", "client-id"}
    for components in ([user, address], [address, user], [address, client]):
        with pytest.raises(ApiError, match="IP filter component should not be used"):
            quota_filter(components, strict=False)
