"""Plans the changes of topics, credentials and quotas.

An entity that is owned becomes as wanted, or is removed. One that is not owned is only created:
another team may have given it the values that it has. The records of a topic are worth more than a
file, so a topic is deleted only where that is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.entities.model import Credential, Quota, TopicEntity
from doorkeeper.acls.model import PatternType, ResourcePattern, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from doorkeeper.acls.entities.model import Entity, EntitySet
    from doorkeeper.acls.model import AclBinding

    Normalize = Callable[[str, str], str]


class EntityPlanError(ValueError):
    """The wanted entities cannot be planned; ``problems`` has a line each."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("; ".join(self.problems))


class EntityChange(NamedTuple):
    """The change of an entity: created without ``before``, removed without ``after``."""

    before: Entity | None
    after: Entity | None

    @property
    def entity(self) -> Entity:
        entity = self.before if self.after is None else self.after
        assert entity is not None
        return entity


class EntityPlan(Struct, frozen=True):
    """The changes, sorted by entity.

    ``unchanged`` counts desired entities that are there already, ``staying`` has the owned topics
    that are not desired, ``foreign`` the changes of entities that no file owns: not made.
    """

    changes: tuple[EntityChange, ...] = ()
    unchanged: int = 0
    staying: tuple[TopicEntity, ...] = ()
    foreign: tuple[EntityChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def creations(self) -> tuple[EntityChange, ...]:
        return tuple(change for change in self.changes if change.before is None)

    @property
    def removals(self) -> tuple[EntityChange, ...]:
        return tuple(change for change in self.changes if change.after is None)

    @property
    def alterations(self) -> tuple[EntityChange, ...]:
        return tuple(change for change in self.changes if None not in change)


NO_ENTITIES = EntityPlan()
_KINDS = (TopicEntity, Credential, Quota)


def plan_entities(
    present: Iterable[Entity],
    desired: EntitySet,
    *,
    delete_topics: bool = False,
    new_passwords: Collection[str] = (),
    normalize: Normalize = lambda _name, value: value,
) -> EntityPlan:
    """Return the necessary changes.

    ``new_passwords`` are users whose passwords are set again, since those of a cluster cannot be
    compared. ``normalize`` returns the value of a topic's setting as a cluster describes it.

    Raises:
        EntityPlanError: the partitions of a topic would decrease, or its replicas move.
    """
    changes: list[EntityChange] = []
    foreign: list[EntityChange] = []
    staying: list[TopicEntity] = []
    problems: list[str] = []
    unchanged = 0
    for change in _compare(present, desired.entities, normalize, new_passwords):
        if change is None:
            unchanged += 1
            continue
        now, goal = change
        is_owned = desired.owns(change.entity.owner_name)
        if now is not None and not is_owned:
            # What is not desired either is of nobody here.
            foreign += [change] if goal is not None else []
        elif isinstance(now, TopicEntity) and goal is None and not delete_topics:
            staying.append(now)
        elif isinstance(now, TopicEntity) and isinstance(goal, TopicEntity):
            refusals = list(_refusals(now, goal))
            problems += refusals
            changes += [] if refusals else [change]
        else:
            changes.append(change)
    if problems:
        raise EntityPlanError(*problems)
    return EntityPlan(
        tuple(sorted(changes, key=_order)), unchanged, tuple(sorted(staying)), tuple(foreign)
    )


def difference(
    before: Iterable[Entity],
    after: Iterable[Entity],
    normalize: Normalize = lambda _name, value: value,
) -> EntityPlan:
    """Return the changes that make one set equal to another, without owners."""
    compared = list(_compare(before, after, normalize))
    changes = [change for change in compared if change is not None]
    return EntityPlan(tuple(sorted(changes, key=_order)), len(compared) - len(changes))


def _compare(
    before: Iterable[Entity],
    after: Iterable[Entity],
    normalize: Normalize,
    new_passwords: Collection[str] = (),
) -> Iterator[EntityChange | None]:
    """Yield the changes that make one set equal to another; None for each equal entity."""
    left = {(type(entity), entity.key): entity for entity in before}
    right = {(type(entity), entity.key): entity for entity in after}
    for key, entity in right.items():
        now = left.get(key)
        change = EntityChange(now, entity) if now is None else _alteration(now, entity, normalize)
        if change is None and isinstance(now, Credential) and isinstance(entity, Credential):
            renewed = EntityChange(now, replace(entity, iterations=now.iterations))
            change = renewed if entity.user in new_passwords else None
        yield change
    # By identity: what differs in its values is changed above, not removed.
    yield from (EntityChange(entity, None) for key, entity in left.items() if key not in right)


def rest_of(plan: EntityPlan, present: Iterable[Entity], normalize: Normalize) -> EntityPlan:
    """Return the changes of a plan that are still to make.

    Raises:
        EntityPlanError: an entity is neither as before the change nor as after it.
    """
    present_by_key = {(type(entity), entity.key): entity for entity in present}
    rest, problems = [], []
    for change in plan.changes:
        now = present_by_key.get((type(change.entity), change.entity.key))
        # Such a change leaves no trace by which it could be seen to be done.
        is_new_password = change.before is not None and change.before == now
        if _is_same(now, change.after, normalize) and not is_new_password:
            continue
        if not _is_same(now, change.before, normalize):
            problems.append(
                f"{change.entity.owner_name} has changed since the plan was made; make a new plan"
            )
        rest.append(change)
    if problems:
        raise EntityPlanError(*problems)
    return replace(plan, changes=tuple(rest), unchanged=len(plan.changes) - len(rest))


def _is_same(now: Entity | None, other: Entity | None, normalize: Normalize) -> bool:
    if now is None or other is None:
        return now is other
    return _alteration(now, other, normalize) is None


def _order(change: EntityChange) -> tuple[object, ...]:
    entity = change.entity
    # The default of quotas, None, is before all names.
    name = entity.owner_name.name or ""
    return (_KINDS.index(type(entity)), name, str(entity.key))


def _alteration(now: Entity, desired: Entity, normalize: Normalize) -> EntityChange | None:
    """Return the change from a present entity to a wanted one; None if it is as wanted."""
    if isinstance(now, Credential) and isinstance(desired, Credential):
        if _agree(now.iterations, desired.iterations):
            return None
        return EntityChange(now, desired)
    if isinstance(now, TopicEntity) and isinstance(desired, TopicEntity):
        # What one side leaves open is as the other one has it.
        goal = TopicEntity(
            now.name,
            now.partitions if desired.partitions is None else desired.partitions,
            now.replication_factor
            if desired.replication_factor is None
            else desired.replication_factor,
            now.configs if desired.configs is None else desired.configs,
        )
        same = (
            _agree(now.partitions, desired.partitions)
            and _agree(now.replication_factor, desired.replication_factor)
            and _agree(_normal(now.configs, normalize), _normal(desired.configs, normalize))
        )
        return None if same else EntityChange(now, goal)
    return None if now == desired else EntityChange(now, desired)


def _agree(now: object, desired: object) -> bool:
    return now is None or desired is None or now == desired


def _normal(
    configs: tuple[tuple[str, str], ...] | None, normalize: Normalize
) -> dict[str, str] | None:
    return None if configs is None else {name: normalize(name, value) for name, value in configs}


def _refusals(now: TopicEntity, goal: TopicEntity) -> Iterator[str]:
    """Yield why a topic cannot become as wanted."""
    before, after = now.partitions, goal.partitions
    if before is not None and after is not None and after < before:
        yield (
            f"topic {goal.name}: has {before} partitions, {after} are desired; the number of"
            " partitions cannot be decreased"
        )
    factor, desired_factor = now.replication_factor, goal.replication_factor
    if factor is not None and desired_factor is not None and factor != desired_factor:
        yield (
            f"topic {goal.name}: has replication factor {factor}, {desired_factor} is desired;"
            " change it with kafka-reassign-partitions.sh"
        )


class StayingAcls(NamedTuple):
    """ACLs that are left of a topic or a user that is removed: who makes it anew has them."""

    entity: Entity
    bindings: tuple[AclBinding, ...]


def staying_acls(plan: EntityPlan, bindings: Iterable[AclBinding]) -> Iterator[StayingAcls]:
    """Yield the removed topics and users that ACLs name; ``bindings`` are those after the plan."""
    by_pattern: dict[ResourcePattern, list[AclBinding]] = {}
    by_principal: dict[str, list[AclBinding]] = {}
    if plan.removals:
        for binding in bindings:
            by_pattern.setdefault(binding.pattern, []).append(binding)
            by_principal.setdefault(binding.entry.principal, []).append(binding)
    users = set()
    for change in plan.removals:
        entity = change.entity
        left: list[AclBinding] = []
        if isinstance(entity, TopicEntity):
            pattern = ResourcePattern(ResourceType.TOPIC, entity.name, PatternType.LITERAL)
            left = by_pattern.get(pattern, [])
        elif isinstance(entity, Credential) and entity.user not in users:
            # A user may have a credential for each mechanism.
            users.add(entity.user)
            left = by_principal.get(f"User:{entity.user}", [])
        if left:
            yield StayingAcls(entity, tuple(left))
