"""Alterations of client quotas: what is refused, what changes, and what is stored.

Source: Kafka's ClientQuotaControlManagerTest (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import run_to_end
from doorkeeper.server.resources.quotas import (
    ClientQuotas,
    Entity,
    QuotaAlteration,
    entity_of,
    entity_text,
    is_address,
    plan_quotas,
)
from doorkeeper.server.schema.change import Edit
from doorkeeper.server.schema.declared import QUOTA, StoredQuota

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMBINED = "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
ALICE, ANY_USER = entity_of([("user", "alice")]), entity_of([("user", None)])
APP, BOTH = entity_of([("client-id", "app")]), entity_of([("user", "a"), ("client-id", "b")])
ADDRESS, ANY_IP = entity_of([("ip", "10.0.0.1")]), entity_of([("ip", None)])
LOCALHOST = entity_of([("ip", "localhost")])
TOO_LARGE = "Proposed value for consumer_byte_rate is too large for a LONG."
DUPLICATE = "Ignoring duplicate entity ClientQuotaEntity"


class Planned(NamedTuple):
    """The rows that are set and deleted, and the errors."""

    set: tuple[StoredQuota, ...]
    deleted: tuple[StoredQuota, ...]
    errors: Mapping[Entity, ApiError | None]


def plan(quotas: ClientQuotas, alterations: Sequence[QuotaAlteration]) -> Planned:
    change, errors = run_to_end(plan_quotas(quotas, alterations, {"10.0.0.1", "localhost"}))
    return Planned(*change.get(QUOTA, Edit()), errors)


def planned(
    *alterations: tuple[Entity, dict[str, float | None]], present: ClientQuotas | None = None
) -> Planned:
    wanted = [QuotaAlteration(entity, tuple(values.items())) for entity, values in alterations]
    return plan(present or ClientQuotas(), wanted)


def text_of(entity: Entity, values: dict[str, float | None]) -> str | None:
    found = planned((entity, values))
    error = found.errors[entity]
    if error is None:
        return None
    assert error.code is ErrorCode.INVALID_REQUEST
    assert (found.set, found.deleted) == ((), ())
    return error.message


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([], "Invalid empty client quota entity"),
        ([("user", "u"), ("foo", "b")], "Unhandled client quota entity type: foo"),
        ([("user", "")], "Empty user not supported"),
        ([("client-id", "")], "Empty client-id not supported"),
        ([("ip", "")], "Empty ip not supported"),
        ([("user", "u"), ("ip", "10.0.0.1")], COMBINED),
        ([("client-id", None), ("ip", None)], COMBINED),
        ([("ip", "example.invalid")], "example.invalid is not a valid IP or resolvable host."),
    ],
)
def test_invalid_entities_are_rejected(parts: list[tuple[str, str | None]], text: str) -> None:
    assert text_of(entity_of(parts), {"producer_byte_rate": 10_000.0}) == text


CLIENT_NAMES = (
    *("producer_byte_rate", "consumer_byte_rate"),
    *("controller_mutation_rate", "request_percentage"),
)
IP_NAMES = ("connection_creation_rate",)


@pytest.mark.parametrize(
    ("entity", "allowed", "refused"),
    [
        *((entity, CLIENT_NAMES, IP_NAMES[0]) for entity in (ALICE, ANY_USER, APP, BOTH)),
        *((entity, IP_NAMES, CLIENT_NAMES[-1]) for entity in (ADDRESS, ANY_IP, LOCALHOST)),
    ],
)
def test_quota_names(entity: Entity, allowed: tuple[str, ...], refused: str) -> None:
    assert [text_of(entity, {name: 5.0}) for name in allowed] == [None] * len(allowed)
    assert text_of(entity, {refused: 5.0}) == f"Invalid configuration key {refused}"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("foobar", 1.0, "Invalid configuration key foobar"),
        ("producer_byte_rate", 0.0, "Quota producer_byte_rate must be greater than 0"),
        ("consumer_byte_rate", -2.0, "Quota consumer_byte_rate must be greater than 0"),
        ("consumer_byte_rate", 36893488147419103232.4, TOO_LARGE),
        ("consumer_byte_rate", float("inf"), TOO_LARGE),
        ("consumer_byte_rate", 2.0**63, None),
        ("consumer_byte_rate", 2.245, "consumer_byte_rate cannot be a fractional value."),
        ("consumer_byte_rate", 1235.0000001, None),
        ("consumer_byte_rate", 1234.9999999, "consumer_byte_rate cannot be a fractional value."),
        ("request_percentage", 56.62367, None),
        ("request_percentage", 0.0, "Quota request_percentage must be greater than 0"),
        ("request_percentage", 1e300, None),
        ("request_percentage", float("nan"), None),
    ],
)
def test_quota_values(name: str, value: float, text: str | None) -> None:
    assert text_of(APP, {name: value}) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2147483647.0, None),
        (2147483648.0, "Proposed value for connection_creation_rate is too large for an INT."),
        (1.5, "connection_creation_rate cannot be a fractional value."),
    ],
)
def test_connection_rates_are_integers(value: float, text: str | None) -> None:
    assert text_of(ADDRESS, {"connection_creation_rate": value}) == text


def test_entity_changes_as_a_whole() -> None:
    found = planned(
        (ALICE, {"request_percentage": 99.9, "not.a.quota": 1.0}),
        (APP, {"request_percentage": 2.0}),
    )

    assert found.set == (StoredQuota(entity_text(APP), "request_percentage", 2.0),)
    assert found.errors[APP] is None


def test_only_differences_are_written() -> None:
    text = entity_text(ALICE)
    kept, gone = StoredQuota(text, "request_percentage", 1), StoredQuota(text, "old", 2)
    present = ClientQuotas().with_changes([kept, gone], [])

    found = planned(
        (
            ALICE,
            {"request_percentage": 1.0, "old": None, "never": None, "producer_byte_rate": 3.0},
        ),
        present=present,
    )

    assert found.set == (StoredQuota(text, "producer_byte_rate", 3.0),)
    assert found.deleted == (gone,)
    assert found.errors == {ALICE: None}


def test_duplicate_alterations() -> None:
    quota_twice = QuotaAlteration(ANY_USER, (("request_percentage", 1.0),) * 2)

    found = planned((BOTH, {"request_percentage": 1.0}), (BOTH, {"request_percentage": 2.0}))
    refused = plan(ClientQuotas(), [quota_twice])

    error, other = found.errors[BOTH], refused.errors[ANY_USER]
    assert error is not None
    assert error.message == f"{DUPLICATE}(entries={{client-id=b, user=a}})"
    assert [row.value for row in found.set] == [1.0]
    assert other is not None
    assert other.message == f"{DUPLICATE}(entries={{user=null}})"
    assert refused.set == ()


def test_records_are_limited() -> None:
    """10,000 rows may change; one more changes nothing at all."""
    values: dict[str, float | None] = {"producer_byte_rate": 1.0, "consumer_byte_rate": 2.0}
    users = [(entity_of([("user", f"u{number}")]), values) for number in range(5_000)]

    assert len(planned(*users).set) == 10_000
    with pytest.raises(ApiError, match=r"^Unable to perform excessively large batch operation\.$"):
        planned(*users, (APP, values))


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("127.0.0.1", "::1", "[::1]", "fe80::1%eth0")),
        *((name, False) for name in ("localhost", "10.0.0.256", "[10.0.0.1", "10.0.0.0/8")),
    ],
)
def test_ip_addresses(name: str, *, is_one: bool) -> None:
    assert is_address(name) is is_one
