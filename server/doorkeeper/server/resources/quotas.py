"""Client quotas: the table of all, the filters that select them, and the plan of their alteration.

An entity is a user, a client id, both, or an IP address; the name None is the default of its type.
Quotas are stored and described, but nothing is throttled.

Source: ``ClientQuotasImage``, ``ClientQuotaControlManager``, ``QuotaConfig`` (4.3.1).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple

from msgspec import Struct

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import SLICE_ITEMS, Slices
from doorkeeper.server.resources.nested_maps import OwnedValues
from doorkeeper.server.schema.change import RECORDS_MAX, Change, edit, too_large
from doorkeeper.server.schema.declared import QUOTA, StoredQuota

Entity = tuple[tuple[str, str | None], ...]
"""The parts of an entity, type and name, in the order of a broker's responses."""

CLIENT_ID: Final = "client-id"
USER: Final = "user"
IP: Final = "ip"
# In the order of a broker's hash tables, in which it prints and sends the parts of an entity.
ENTITY_TYPES: Final = (CLIENT_ID, USER, IP)


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """Return the entity of parts; of several parts with one type the last counts."""
    names = dict(parts)
    known = [(kind, names.pop(kind)) for kind in ENTITY_TYPES if kind in names]
    return (*known, *names.items())


def entity_text(entity: Entity) -> str:
    """Return an entity as in stores and the audit log: a JSON object of names by type."""
    # The order of an entity's parts is fixed, so equal entities have equal texts.
    return json.dumps(dict(entity), ensure_ascii=False, separators=(",", ":"))


class ClientQuotas(OwnedValues[Entity, float]):
    """The quotas of all entities; immutable."""

    @staticmethod
    def owner_of(row: StoredQuota) -> Entity:
        return tuple(json.loads(row.entity).items())


class QuotaFilter(Struct, frozen=True):
    """A filter of entities: types with exact names, and types with any name.

    With ``strict`` an entity must not have parts of other types.
    """

    exact: Mapping[str, str | None]
    specified: Collection[str]
    strict: bool

    def matches(self, entity: Entity) -> bool:
        if self.strict and len(entity) != len(self.exact) + len(self.specified):
            return False
        names = dict(entity)
        return all(kind in names and names[kind] == name for kind, name in self.exact.items()) and (
            all(kind in names for kind in self.specified)
        )


_EXACT, _DEFAULT, _SPECIFIED = range(3)


def quota_filter(components: Iterable[tuple[str, int, str | None]], *, strict: bool) -> QuotaFilter:
    """Return the filter of a request's components: type, Kafka's code of the match, name."""
    exact: dict[str, str | None] = {}
    specified: set[str] = set()
    for kind, match_type, match in components:
        _check_component(kind, match_type, match, {*exact, *specified})
        if match_type == _SPECIFIED:
            specified.add(kind)
        else:
            exact[kind] = match
    types = {*exact, *specified}
    if IP in types and len(types) > 1:
        raise refusal(
            "Invalid entity filter component combination. IP filter component should not be used"
            " with user or clientId filter component."
        )
    return QuotaFilter(exact, specified, strict)


def _check_component(kind: str, match_type: int, match: str | None, types: set[str]) -> None:
    if not kind:
        raise refusal("Invalid empty entity type.")
    if kind in types:
        raise refusal(f"Entity type {kind} cannot appear more than once in the filter.")
    if kind not in ENTITY_TYPES:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
    if match_type == _EXACT:
        if match is None:
            raise refusal("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    elif match_type in (_DEFAULT, _SPECIFIED):
        if match is not None:
            name = "DEFAULT" if match_type == _DEFAULT else "SPECIFIED"
            raise refusal(
                f"Request specified MATCH_TYPE_{name}, but also specified a match string."
            )
    else:
        raise refusal(f"Unknown match type {match_type}")


def describe(
    quotas: ClientQuotas, filter: QuotaFilter
) -> list[tuple[Entity, list[tuple[str, float]]]]:
    """Return the selected entities with their quotas, sorted by name; O(entities)."""
    if filter.strict and not filter.specified:
        # The exact name of every part is given, so at most one entity matches.
        entity = entity_of(filter.exact.items())
        rows = [(entity, quotas.of(entity))]
    else:
        rows = [row for row in quotas if filter.matches(row[0])]
    rows.sort(key=_sort_key)
    return [(entity, sorted(values.items())) for entity, values in rows if values]


def _sort_key(row: tuple[Entity, object]) -> list[tuple[str, str]]:
    return [(kind, name or "") for kind, name in row[0]]


def refusal(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, text)


_LONG, _INT, _DOUBLE = "a LONG", "an INT", "a DOUBLE"
# A broker's bounds of Java's long (as a double) and int.
_LARGEST: Final = {_LONG: 2.0**63, _INT: 2.0**31 - 1}
_CLIENT_KEYS: Final = {
    "producer_byte_rate": _LONG,
    "consumer_byte_rate": _LONG,
    "request_percentage": _DOUBLE,
    "controller_mutation_rate": _DOUBLE,
}
_IP_KEYS: Final = {"connection_creation_rate": _INT}


class QuotaAlteration(NamedTuple):
    """The alterations of one entity's quotas: names and new values, None to delete."""

    entity: Entity
    values: tuple[tuple[str, float | None], ...]


def host_names(alterations: Iterable[QuotaAlteration]) -> set[str]:
    """Return the names of IP entities, which are addresses or the names of hosts."""
    return {name for entity, _ in alterations for kind, name in entity if kind == IP and name}


def is_address(name: str) -> bool:
    """Return whether a name is an IP address, with or without the brackets of a URL."""
    try:
        ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return True


def plan_quotas(
    quotas: ClientQuotas, alterations: Sequence[QuotaAlteration], hosts: Collection[str]
) -> Slices[tuple[Change, Mapping[Entity, ApiError | None]]]:
    """Return the change, and an error or None for each entity in the order of the request.

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
        raise too_large()
    return edit(QUOTA, set=set_, deleted=deleted), errors


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
            return refusal(f"Proposed value for {name} is too large for {kind}.")
        # The broker's tolerance.
        if math.fmod(value, 1) > 1e-6:
            return refusal(f"{name} cannot be a fractional value.")
    return None
