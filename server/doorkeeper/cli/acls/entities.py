"""Topics, users and quotas in plans: printed, kept in files of plans, and applied.

    + topic pay-orders: 6 partitions, cleanup.policy=compact
    ~ user pay-app: SCRAM-SHA-512, 8192 iterations (now 4096), password of ${env:PAY_APP_PASSWORD}
    - quota of user pay-old: producer_byte_rate=1048576

No line has a password: plans and files have references to them, which ``apply`` alone resolves.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Struct

from doorkeeper.acls.entities.model import DEFAULT_NAME, Credential, EntitySet, Quota, TopicEntity
from doorkeeper.acls.entities.plan import (
    NO_ENTITIES,
    EntityChange,
    EntityPlan,
    EntityPlanError,
    difference,
    plan_entities,
    rest_of,
    staying_acls,
)
from doorkeeper.acls.formats.entities import SECTIONS, entity_of_record, record_of_entity
from doorkeeper.acls.formats.names import FormatError, check_words, wrong
from doorkeeper.acls.live_changes import RemovalLimits
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.terminal import counted, printable, say
from doorkeeper.cli.users.passwords import checked, new_password
from doorkeeper.cli.vocabulary.options import named_option, with_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from doorkeeper.acls.entities.model import Entity
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.base.errors import ApiError
    from doorkeeper.cli.acls.addresses import Location
    from doorkeeper.cli.json_records.sets import EntityChange as EntityChangeRecord
    from doorkeeper.cli.json_records.sets import EntityChanges
    from doorkeeper.cli.repositories.repository import AclRepository
    from doorkeeper.cli.repositories.sessions import ClusterSession

    MakePlan = Callable[[list[Entity]], EntityPlan]

_FILE: Final = re.compile(r"\$\{file:([^:{}]+)\}")
_ACLS_ONLY: Final = (
    "note: topics, users and quotas in WANTED are ignored; to include them, use kafka://HOST:PORT"
)
_NOUNS: Final = {"user": "user", "client-id": "client id", "ip": "ip"}

entity_options = with_options(
    named_option("--delete-topics", is_flag=True),
    named_option("--new-password", "new_passwords", multiple=True),
)
"""The options of topics and users; ``planner_of`` reads them."""


class EntityPlanner(Struct, frozen=True):
    """The wanted entities, and the plan of the present ones."""

    desired: EntitySet
    make_plan: MakePlan

    async def plan_at(self, repository: AclRepository) -> EntityPlan:
        """Return the plan, as ``plan``, for a repository that is not open."""
        if not self.desired or not repository.address.is_live:
            return self._none()
        async with repository.change() as session:
            return await self.plan(session)

    def _none(self) -> EntityPlan:
        if self.desired:
            say(_ACLS_ONLY)
        return NO_ENTITIES

    async def plan(self, session: ClusterSession) -> EntityPlan:
        """Return the plan, after notes on stderr on the entities that it leaves alone.

        Raises:
            RepositoryError: the entities cannot be read, or cannot become as wanted.
        """
        present = await session.entities(self.desired) if self.desired else None
        if present is None:
            return self._none()
        try:
            plan = self.make_plan(present)
        except EntityPlanError as error:
            raise RepositoryError(*error.problems) from None
        for line in _notes(plan):
            say(line)
        return plan


NO_PLANNER: Final = EntityPlanner(EntitySet(), lambda _present: NO_ENTITIES)


def normalize_config(name: str, text: str) -> str:
    """Return the value of a topic's setting as a cluster describes it."""
    from doorkeeper.server.resources.settings.topic import (
        InvalidConfig,
        display,
        topic_settings,
    )

    try:
        return display(topic_settings()[name], text) if name in topic_settings() else text
    # The cluster refuses it, with its own text.
    except InvalidConfig:
        return text


def planner_of(
    desired: EntitySet, removals_max: int | None, options: Mapping[str, Any]
) -> EntityPlanner:
    """Return the planner of entities of files; the options are those above.

    Raises:
        click.UsageError: a user of --new-password is not wanted.
    """
    new_passwords = options.get("new_passwords", ())
    known = {entity.user for entity in desired.entities if isinstance(entity, Credential)}
    for user in new_passwords:
        if user not in known:
            raise click.UsageError(
                f"--new-password: found {user!r}; expected a user in WANTED:"
                f" {', '.join(sorted(known)) or 'none'}"
            )

    def make_plan(present: list[Entity]) -> EntityPlan:
        plan = plan_entities(
            present,
            desired,
            delete_topics=options.get("delete_topics", False),
            new_passwords=new_passwords,
            normalize=normalize_config,
        )
        return _within(plan, removals_max)

    return EntityPlanner(desired, make_plan)


def planner_of_rest(saved: EntityPlan, removals_max: int | None) -> EntityPlanner:
    """Return the planner of those changes of a saved plan that are still to make."""

    def make_plan(present: list[Entity]) -> EntityPlan:
        return _within(rest_of(saved, present, normalize_config), removals_max)

    # The entities of the plan stand for those that are wanted: they alone are described.
    return EntityPlanner(EntitySet(tuple(change.entity for change in saved.changes)), make_plan)


def _within(plan: EntityPlan, limit: int | None) -> EntityPlan:
    removals_max = RemovalLimits().number if limit is None else limit
    if len(plan.removals) > removals_max:
        raise EntityPlanError(
            f"{len(plan.removals)} topics, users and quotas would be removed; the limit is"
            f" {removals_max} (--max-removals)"
        )
    return plan


async def compare(left: Location, right: Location, of_files: EntitySet) -> EntityPlan:
    """Return the changes from the entities at one location to those at another.

    Of a live cluster, those that the files of the other side have or own.

    Raises:
        RepositoryError: they cannot be read.
    """
    before, after = [await _entities_at(location, of_files) for location in (left, right)]
    return difference(before, after, normalize_config)


async def _entities_at(location: Location, of_files: EntitySet) -> list[Entity]:
    repository = location.repository()
    # A store has topics, but no file could be applied to them without its server.
    if not location.address.is_live:
        return list((await repository.read()).entities.entities)
    async with repository.change() as session:
        present = await session.entities(of_files)
    if present is None:
        return list(of_files.entities)
    named = {(type(entity), entity.key) for entity in of_files.entities}
    return [
        entity
        for entity in present
        if (type(entity), entity.key) in named or of_files.owns(entity.owner_name)
    ]


# --- printing


def line_of(change: EntityChange) -> str:
    before, after = change
    sign = "+" if before is None else "-" if after is None else "~"
    return f"{sign} {printable(_subject(change.entity))}: {printable(', '.join(_details(change)))}"


def _subject(entity: Entity) -> str:
    if isinstance(entity, TopicEntity):
        return f"topic {entity.name}"
    if isinstance(entity, Credential):
        return f"user {entity.user}"
    client = (f"{_NOUNS[kind]} {name or DEFAULT_NAME}" for kind, name in entity.client)
    return f"quota of {', '.join(client)}"


def _details(change: EntityChange) -> Iterator[str]:
    before, after = change
    if isinstance(change.entity, Credential):
        yield from _credential_details(before, change.entity, is_removed=after is None)
    elif isinstance(change.entity, Quota):
        now = f" (now {_number(before.value)})" if isinstance(before, Quota) and after else ""
        yield f"{change.entity.limit}={_number(change.entity.value)}{now}"
    elif isinstance(after, TopicEntity):
        yield from _topic_details(before, after)
    else:
        yield f"{change.entity.partitions} partitions with all their records"


def _credential_details(
    before: Entity | None, entity: Credential, *, is_removed: bool
) -> Iterator[str]:
    yield entity.mechanism
    if is_removed:
        return
    now = before.iterations if isinstance(before, Credential) else None
    if entity.iterations is not None and entity.iterations != now:
        yield f"{entity.iterations} iterations{'' if now is None else f' (now {now})'}"
    is_same = isinstance(before, Credential) and entity.iterations == now
    yield f"{'new ' if is_same else ''}password of {entity.password}"


def _topic_details(before: Entity | None, after: TopicEntity) -> Iterator[str]:
    if not isinstance(before, TopicEntity):
        yield f"{after.partitions or 'default'} partitions"
        if after.replication_factor is not None:
            yield f"replication factor {after.replication_factor}"
        for name, value in after.configs or ():
            yield f"{name}={value}"
        return
    if after.partitions != before.partitions:
        yield f"{after.partitions} partitions (now {before.partitions})"
    if after.replication_factor != before.replication_factor:
        yield f"replication factor {after.replication_factor} (now {before.replication_factor})"
    now, goal = dict(before.configs or ()), dict(after.configs or ())
    for name, value in goal.items():
        if name not in now or normalize_config(name, now[name]) != normalize_config(name, value):
            yield f"{name}={value}{f' (now {now[name]})' if name in now else ''}"
    for name in sorted(now.keys() - goal):
        yield f"{name} as by default (now {now[name]})"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _notes(plan: EntityPlan) -> Iterator[str]:
    for topic in plan.staying:
        yield (
            f"note: topic {printable(topic.name)} is owned but not in WANTED; it is kept with its"
            " records (--delete-topics deletes it)"
        )
    for change in plan.foreign:
        yield f"note: not changed, because no file owns it: {line_of(change)[2:]}"


def say_staying(plan: EntityPlan, bindings: Iterable[AclBinding]) -> None:
    """Say which ACLs stay of topics and users that are removed; ``bindings`` are those after it."""
    for entity, left in staying_acls(plan, bindings):
        count = counted(len(left), "ACL")
        stays = "stay" if len(left) > 1 else "stays"
        if isinstance(entity, Credential):
            say(
                f"note: {count} of User:{printable(entity.user)} {stays} and will apply to any"
                " new user of this name"
            )
            continue
        assert isinstance(entity, TopicEntity), "no ACL names a quota"
        principals = sorted({binding.entry.principal for binding in left})
        more = f" and {len(principals) - 5} more" if len(principals) > 5 else ""
        say(
            f"note: {count} on {printable(entity.name)} {stays} and will apply again if the topic"
            f" is recreated: {printable(', '.join(principals[:5]))}{more}"
        )


def summary_of(plan: EntityPlan) -> str:
    """Return the numbers of a plan of entities; empty if there are none."""
    if plan:
        return (
            f"topics, users, quotas: {len(plan.creations)} to create, {len(plan.alterations)} to"
            f" change, {len(plan.removals)} to remove, {plan.unchanged} unchanged"
        )
    return f"{plan.unchanged} topics, users and quotas are up to date" if plan.unchanged else ""


# --- in files of plans


def record_of_plan(plan: EntityPlan) -> EntityChanges:
    """Return the changes for JSON, by section; only sections that have any."""
    sections: EntityChanges = {}
    for change in plan.changes:
        section = record_of_entity(change.entity)[0]
        before, after = (
            None if entity is None else record_of_entity(entity)[1] for entity in change
        )
        rows: list[EntityChangeRecord] = sections.setdefault(section, [])  # type: ignore[misc]
        rows.append({"before": before, "after": after})
    return sections


def take_plan(document: dict[str, Any]) -> EntityPlan:
    """Take the changes of ``record_of_plan`` out of a document.

    Raises:
        FormatError: they are malformed.
    """
    changes = []
    for section in SECTIONS:
        rows = document.pop(section, [])
        if not isinstance(rows, list):
            raise wrong(rows, "a list of changes", section)
        for row in rows:
            if not isinstance(row, dict) or row.keys() != {"before", "after"}:
                raise wrong(row, "a change with before and after", section)
            check_words(row, ("before", "after"))
            before, after = (
                None if row[word] is None else entity_of_record(section, row[word])
                for word in ("before", "after")
            )
            if before is None and after is None:
                raise FormatError(f"{section}: found a change with neither before nor after")
            changes.append(EntityChange(before, after))
    return EntityPlan(tuple(changes))


# --- applying


def phases_of(
    plan: EntityPlan,
) -> tuple[list[EntityChange], list[EntityChange], tuple[EntityChange, ...]]:
    """Return the changes of topics and users, of quotas, and the removals, in their order.

    Topics and users come first, so that no ACL is for something that is not there yet. Then ACLs
    are added, quotas set, ACLs removed, and all else is removed last.
    """
    additions = [change for change in plan.changes if change.after is not None]
    quotas = [change for change in additions if isinstance(change.entity, Quota)]
    return [change for change in additions if change not in quotas], quotas, plan.removals


def passwords_of(plan: EntityPlan) -> dict[str, str]:
    """Return the passwords that the changes need, by reference.

    Raises:
        RepositoryError: a reference cannot be resolved; the text has no secret.
    """
    needed = {
        change.after.password for change in plan.changes if isinstance(change.after, Credential)
    }
    passwords, problems = {}, []
    for reference in sorted(needed):
        try:
            passwords[reference] = _password(reference, os.environ)
        except ValueError as error:
            text = str(error).removeprefix(f"{reference}: ")
            problems.append(f"{reference}: {text}")
    if problems:
        raise RepositoryError(*problems)
    return passwords


def _password(reference: str, environment: Mapping[str, str]) -> str:
    # Java's provider needs a key: a file with nothing but the password has none.
    file = _FILE.fullmatch(reference)
    if file is not None:
        return new_password(Path(file[1]))
    from doorkeeper.client.config_providers import value_of_variable

    value = value_of_variable(reference, environment)
    if not value:
        raise ValueError("the password is empty")
    return checked(value, reference)


async def alter(
    session: ClusterSession, changes: Sequence[EntityChange], passwords: Mapping[str, str]
) -> list[tuple[EntityChange, ApiError]]:
    """Make changes, and return those that were refused.

    Raises:
        RepositoryError: it is unknown whether they were made.
    """
    if not changes:
        return []
    errors = await session.alter_entities(changes, passwords)
    return [
        (change, error) for change, error in zip(changes, errors, strict=True) if error is not None
    ]
