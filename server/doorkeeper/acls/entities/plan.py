"""Plans the changes of topics, credentials and quotas.

An entity that is owned becomes as wanted, or is removed. One that is not owned is only created:
another team may have given it the values that it has. The records of a topic are worth more than a
file, so a topic is deleted only where that is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acls.entities.model import Credential, Quota, TopicEntity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from doorkeeper.acls.entities.model import Entity, EntitySet

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
        found = self.before if self.after is None else self.after
        assert found is not None
        return found


class EntityPlan(NamedTuple):
    """The changes, sorted by entity.

    ``kept`` counts wanted entities that are as wanted, ``staying`` has the owned topics that are
    not wanted, and ``foreign`` the changes that are not made because no file owns the entity.
    """

    changes: tuple[EntityChange, ...] = ()
    kept: int = 0
    staying: tuple[TopicEntity, ...] = ()
    foreign: tuple[EntityChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def creations(self) -> tuple[EntityChange, ...]:
        return tuple(each for each in self.changes if each.before is None)

    @property
    def removals(self) -> tuple[EntityChange, ...]:
        return tuple(each for each in self.changes if each.after is None)

    @property
    def alterations(self) -> tuple[EntityChange, ...]:
        return tuple(each for each in self.changes if None not in each)


NO_ENTITIES = EntityPlan()
_KINDS = (TopicEntity, Credential, Quota)


def plan_entities(
    present: Iterable[Entity],
    wanted: EntitySet,
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
    there = {(type(each), each.key): each for each in present}
    problems: list[str] = []
    changes: list[EntityChange] = []
    foreign: list[EntityChange] = []
    kept = 0
    for each in wanted.entities:
        now = there.get((type(each), each.key))
        change = EntityChange(now, each) if now is None else _alteration(now, each, normalize)
        if isinstance(each, Credential) and each.user in new_passwords and now is not None:
            change = change or EntityChange(now, each._replace(iterations=_iterations(now)))
        if change is None:
            kept += 1
        elif now is None:
            changes.append(change)
        elif not wanted.owns(each.owner_name):
            foreign.append(change)
        elif (
            isinstance(now, TopicEntity)
            and isinstance(each, TopicEntity)
            and (found := list(_refusals(now, each)))
        ):
            problems += found
        else:
            changes.append(change)
    if problems:
        raise EntityPlanError(*problems)
    # By identity: what differs in its values is changed above, not removed.
    goal = {(type(each), each.key) for each in wanted.entities}
    surplus = [
        each for key, each in there.items() if key not in goal and wanted.owns(each.owner_name)
    ]
    staying = () if delete_topics else [each for each in surplus if isinstance(each, TopicEntity)]
    changes += [EntityChange(each, None) for each in surplus if each not in staying]
    return EntityPlan(
        tuple(sorted(changes, key=_order)), kept, tuple(sorted(staying)), tuple(foreign)
    )


def difference(
    before: Iterable[Entity],
    after: Iterable[Entity],
    normalize: Normalize = lambda _name, value: value,
) -> EntityPlan:
    """Return the changes that make one set equal to another, without owners."""
    left = {(type(each), each.key): each for each in before}
    right = {(type(each), each.key): each for each in after}
    changes = [EntityChange(each, None) for key, each in left.items() if key not in right]
    kept = 0
    for key, each in right.items():
        now = left.get(key)
        change = EntityChange(now, each) if now is None else _alteration(now, each, normalize)
        if change is None:
            kept += 1
        else:
            changes.append(change)
    return EntityPlan(tuple(sorted(changes, key=_order)), kept)


def rest_of(plan: EntityPlan, present: Iterable[Entity], normalize: Normalize) -> EntityPlan:
    """Return the changes of a plan that are still to make.

    Raises:
        EntityPlanError: an entity is neither as before the change nor as after it.
    """
    there = {(type(each), each.key): each for each in present}
    rest, problems = [], []
    for change in plan.changes:
        now = there.get((type(change.entity), change.entity.key))
        # Such a change leaves no trace by which it could be seen to be done.
        is_new_password = change.before is not None and change.before == now
        if _is_same(now, change.after, normalize) and not is_new_password:
            continue
        if not _is_same(now, change.before, normalize):
            problems.append(f"{change.entity.owner_name} has changed since the plan; plan it again")
        rest.append(change)
    if problems:
        raise EntityPlanError(*problems)
    return plan._replace(changes=tuple(rest), kept=len(plan.changes) - len(rest))


def _is_same(now: Entity | None, other: Entity | None, normalize: Normalize) -> bool:
    if now is None or other is None:
        return now is other
    return _alteration(now, other, normalize) is None


def _order(change: EntityChange) -> tuple[object, ...]:
    entity = change.entity
    # The default of quotas, None, is before all names.
    name = entity.owner_name.name or ""
    return (_KINDS.index(type(entity)), name, str(entity.key))


def _iterations(now: Entity) -> int | None:
    assert isinstance(now, Credential)
    return now.iterations


def _alteration(now: Entity, wanted: Entity, normalize: Normalize) -> EntityChange | None:
    """Return the change from a present entity to a wanted one; None if it is as wanted."""
    if isinstance(now, Credential) and isinstance(wanted, Credential):
        if _agree(now.iterations, wanted.iterations):
            return None
        return EntityChange(now, wanted)
    if isinstance(now, TopicEntity) and isinstance(wanted, TopicEntity):
        # What one side leaves open is as the other one has it.
        goal = TopicEntity(
            now.name,
            now.partitions if wanted.partitions is None else wanted.partitions,
            now.replication_factor
            if wanted.replication_factor is None
            else wanted.replication_factor,
            now.configs if wanted.configs is None else wanted.configs,
        )
        same = (
            _agree(now.partitions, wanted.partitions)
            and _agree(now.replication_factor, wanted.replication_factor)
            and _agree(_normal(now.configs, normalize), _normal(wanted.configs, normalize))
        )
        return None if same else EntityChange(now, goal)
    return None if now == wanted else EntityChange(now, wanted)


def _agree(now: object, wanted: object) -> bool:
    return now is None or wanted is None or now == wanted


def _normal(
    configs: tuple[tuple[str, str], ...] | None, normalize: Normalize
) -> dict[str, str] | None:
    return None if configs is None else {name: normalize(name, each) for name, each in configs}


def _refusals(now: TopicEntity, goal: TopicEntity) -> Iterator[str]:
    """Yield why a topic cannot become as wanted."""
    before, after = now.partitions, goal.partitions
    if before is not None and after is not None and after < before:
        yield (
            f"topic {goal.name}: found {before} partitions, wanted are {after}: the partitions of"
            " a topic only grow"
        )
    factor, wanted = now.replication_factor, goal.replication_factor
    if factor is not None and wanted is not None and factor != wanted:
        yield (
            f"topic {goal.name}: found replication factor {factor}, wanted is {wanted}: replicas"
            " are moved between brokers by kafka-reassign-partitions.sh, not by a plan"
        )
