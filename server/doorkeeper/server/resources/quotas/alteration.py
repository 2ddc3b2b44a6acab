"""Plan of an AlterClientQuotas request.

Source: ``ClientQuotaControlManager``, ``QuotaConfig`` (4.3.1).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import SLICE_ITEMS
from doorkeeper.server.resources.quotas.table import ENTITY_TYPES, IP, entity_text, refusal
from doorkeeper.server.schema.declared import StoredQuota

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from doorkeeper.base.slices import Slices
    from doorkeeper.server.resources.quotas.table import ClientQuotas, Entity

_LONG, _INT, _DOUBLE = "LONG", "INT", "DOUBLE"


# A broker's bounds of Java's long (as a double) and int.
_LARGEST: Final = {_LONG: 2.0**63, _INT: 2.0**31 - 1}


_CLIENT_KEYS: Final = {
    "producer_byte_rate": _LONG,
    "consumer_byte_rate": _LONG,
    "request_percentage": _DOUBLE,
    "controller_mutation_rate": _DOUBLE,
}


_IP_KEYS: Final = {"connection_creation_rate": _INT}


# Most records of one request, as of a broker's controller; a larger request changes nothing.
# Source: QuorumController.MAX_RECORDS_PER_USER_OP.
RECORDS_MAX: Final = 10_000


class QuotaAlteration(NamedTuple):
    """The alterations of one entity's quotas: names and new values, None to delete."""

    entity: Entity
    values: tuple[tuple[str, float | None], ...]


class QuotaPlan(NamedTuple):
    """The changed rows, and an error or None for each entity in the order of the request."""

    set: tuple[StoredQuota, ...]
    deleted: tuple[StoredQuota, ...]
    errors: Mapping[Entity, ApiError | None]


def plan_quotas(
    quotas: ClientQuotas, alterations: Sequence[QuotaAlteration], hosts: Collection[str]
) -> Slices[QuotaPlan]:
    """Plan a request on the existing quotas, in slices.

    ``hosts`` are the valid names of IP entities. Of an entity that occurs twice the first
    alteration is made and the second rejected, as by a broker.

    Raises:
        ApiError: more rows would change than a broker's controller writes at once.

    """
    set_: list[StoredQuota] = []
    deleted: list[StoredQuota] = []
    errors: dict[Entity, ApiError | None] = {}
    for number, (entity, values) in enumerate(alterations):
        if number % SLICE_ITEMS == SLICE_ITEMS - 1:
            yield
        names = [name for name, _ in values]
        if entity in errors or len(set(names)) < len(names):
            # A broker replaces its text for a quota that occurs twice by this one.
            shown = ", ".join(f"{kind}={'null' if n is None else n}" for kind, n in entity)
            errors[entity] = refusal(
                f"Ignoring duplicate entity ClientQuotaEntity(entries={{{shown}}})"
            )
            continue
        refused = _entity_refusal(entity, hosts) or _value_refusal(entity, values)
        errors[entity] = refused
        if refused is None:
            _collect(quotas.of(entity), entity, values, set_, deleted)
    if len(set_) + len(deleted) > RECORDS_MAX:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
        )
    return QuotaPlan(tuple(set_), tuple(deleted), errors)


def _collect(
    present: Mapping[str, float],
    entity: Entity,
    values: Iterable[tuple[str, float | None]],
    set_: list[StoredQuota],
    deleted: list[StoredQuota],
) -> None:
    """Append the rows that differ from the present quotas."""
    text = entity_text(entity)
    for name, value in values:
        before = present.get(name)
        if value is None:
            if before is not None:
                deleted.append(StoredQuota(text, name, before))
        elif value != before:
            set_.append(StoredQuota(text, name, value))


def _entity_refusal(entity: Entity, hosts: Collection[str]) -> ApiError | None:
    if not entity:
        return refusal("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in ENTITY_TYPES:
            return refusal(f"Unhandled client quota entity type: {kind}")
        if name == "":
            return refusal(f"Empty {kind} not supported")
    kind, name = entity[-1]
    if kind == IP and len(entity) > 1:
        return refusal(
            # "shouldnot" is in the broker's text.
            "Invalid quota entity combination, IP entity shouldnot be combined with User or"
            " ClientId"
        )
    if kind == IP and name is not None and name not in hosts:
        return refusal(f"{name} is not a valid IP or resolvable host.")
    return None


def _value_refusal(entity: Entity, values: Iterable[tuple[str, float | None]]) -> ApiError | None:
    """Return why a new value is invalid; deletions are not checked."""
    keys = _IP_KEYS if entity[0][0] == IP else _CLIENT_KEYS
    for name, value in values:
        if value is None:
            continue
        kind = keys.get(name)
        if kind is None:
            return refusal(f"Invalid configuration key {name}")
        if value <= 0:
            return refusal(f"Quota {name} must be greater than 0")
        if kind == _DOUBLE:
            continue
        if value > _LARGEST[kind]:
            article = "an" if kind == _INT else "a"
            return refusal(f"Proposed value for {name} is too large for {article} {kind}.")
        # The broker's tolerance.
        if math.fmod(value, 1) > 1e-6:
            return refusal(f"{name} cannot be a fractional value.")
    return None
