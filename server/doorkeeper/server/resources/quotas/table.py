"""Client quotas: the model, and the filters that select them.

An entity is a user, a client id, both, or an IP address; the name None is the default of its type.
Quotas are stored and described, but nothing is throttled.

Source: ``ClientQuotasImage`` (4.3.1).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import immutables

from doorkeeper.base.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from doorkeeper.server.schema.declared import StoredQuota

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


def _entity_from(text: str) -> Entity:
    return tuple(json.loads(text).items())


class ClientQuotas:
    """The quotas of all entities; immutable."""

    __slots__ = ("_by_entity",)

    def __init__(
        self, by_entity: immutables.Map[Entity, immutables.Map[str, float]] | None = None
    ) -> None:
        self._by_entity = immutables.Map() if by_entity is None else by_entity

    def of(self, entity: Entity) -> Mapping[str, float]:
        """Return the quotas of an entity by name; empty without any."""
        return self._by_entity.get(entity, _NONE)

    def __iter__(self) -> Iterator[tuple[Entity, Mapping[str, float]]]:
        """Yield the entities that have quotas, in no order."""
        return iter(self._by_entity.items())

    def with_changes(self, set: Iterable[StoredQuota], deleted: Iterable[StoredQuota]) -> Self:
        """Return the quotas without ``deleted`` and with ``set``; O(log n) for each row."""
        with self._by_entity.mutate() as entities:
            for row in deleted:
                entity = _entity_from(row.entity)
                left = entities.get(entity, _NONE)
                if row.name in left:
                    left = left.delete(row.name)
                if left:
                    entities[entity] = left
                else:
                    entities.pop(entity, None)
            for row in set:
                entity = _entity_from(row.entity)
                entities[entity] = entities.get(entity, _NONE).set(row.name, row.value)
            found = entities.finish()
        return type(self)(found)


_NONE: Final[immutables.Map[str, float]] = immutables.Map()


class QuotaFilter(NamedTuple):
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
    """Return the filter of a request's components: type, Kafka's code of the match, name.

    Raises:
        ApiError: with the first invalid component.

    """
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
    quotas: ClientQuotas, wanted: QuotaFilter
) -> list[tuple[Entity, list[tuple[str, float]]]]:
    """Return the selected entities with their quotas, sorted by name; O(entities)."""
    if wanted.strict and not wanted.specified:
        # The exact name of every part is given, so at most one entity matches.
        entity = entity_of(wanted.exact.items())
        found = [(entity, quotas.of(entity))]
    else:
        found = [each for each in quotas if wanted.matches(each[0])]
    found.sort(key=_sort_key)
    return [(entity, sorted(values.items())) for entity, values in found if values]


def _sort_key(found: tuple[Entity, object]) -> list[tuple[str, str]]:
    return [(kind, name or "") for kind, name in found[0]]


def refusal(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, text)
