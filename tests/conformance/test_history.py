"""Decisions of the past: those of Kafka's StandardAuthorizer with the ACLs of then.

Random histories of ACLs, super users, allow.everyone.if.no.acl.found and the release of Kafka whose
rules count. Our answer is that of the state as of a revision, read from the store's history; Kafka
is given an independent replay of the changes up to there.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import asyncpg
import pytest

from doorkeeper.acl.model import (
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.construction.decision_settings import settings_of
from doorkeeper.history.moments import Moment
from doorkeeper.history.reading import state_at
from doorkeeper.kinds.acls import StoredBinding
from doorkeeper.kinds.change import edit
from doorkeeper.kinds.declared import ACL, FEATURE, SETTING, StoredFeature, StoredSetting
from doorkeeper.kinds.features import LEVELS, METADATA_VERSION, release_of
from doorkeeper.offline.stores import open_backup
from doorkeeper.repositories.addresses import parse_address
from doorkeeper.storage.backup import backup
from doorkeeper.storage.portable_embedded import reading
from doorkeeper.storage.postgres import portable
from testkit.oracle_authorizer import compared, our_answer
from testkit.oracle_worlds import (
    ADDRESSES,
    EVERYONE,
    FAMILIES,
    NETWORKS,
    OPERATIONS,
    PRINCIPALS,
    SUPER_USERS,
    TYPES,
    host_of,
    kafka_is_lost,
)
from testkit.shared_stores import prepared, write
from testkit.stores import commit, started_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from doorkeeper.kinds.change import Change
    from doorkeeper.state.state import State
    from doorkeeper.storage.portable import Portable
    from testkit.oracle_authorizer import AuthorizerOracle
    from testkit.oracle_totals import Totals
    from testkit.postgres import Database

ACLS, QUESTIONS = 60, 40
ORACLES: Mapping[str, str] = {"4.3": "4.3.1", "4.4": "4.4.0"}
"""Releases of the store, and the code that is asked."""

SUPER, OPEN = "super.users", "allow.everyone.if.no.acl.found"
LENGTHS = [
    pytest.param(400, 40, id="short"),
    pytest.param(10_000, 1_000, marks=pytest.mark.slow, id="long"),
]


class Then(NamedTuple):
    """What decisions depended on after a revision: rows of the oracle, settings, the release."""

    acls: tuple[tuple[Any, ...], ...]
    configs: Mapping[str, str]
    release: str


class History:
    """Random changes, and the replay of each revision. Names are few, so that ACLs meet."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        family = self.random.choice(FAMILIES[:5])
        self.names = [name for name in family if name]
        self.types = self.random.sample(TYPES, 2)
        # Kafka fails where User:* asks: an accepted difference, which would hide others.
        askers = [each for each in PRINCIPALS if each != WILDCARD_PRINCIPAL]
        self.principals = self.random.sample(askers, 4)
        self.addresses = self.random.sample(ADDRESSES, 3)
        self.hosts = ["*", *map(host_of, self.addresses), *self.random.sample(NETWORKS, 3)]
        self.operations = self.random.sample(OPERATIONS[1:], 4)
        self.changes: list[Change] = []
        self.past = [Then((), {SUPER: "", OPEN: "false"}, "4.4")]
        self._ids: dict[tuple[Any, ...], str] = {}

    def next(self) -> Change:
        """Make a change; the first one sets what a server records at its first start."""
        acls, configs, release = self.past[-1]
        change: Change
        kind = "setting" if not self.changes else self._one_of({"acl": 94, "setting": 5, "rel": 1})
        if kind == "setting":
            users = [each for each in SUPER_USERS if each not in (":", "a")]
            configs = {SUPER: self.random.choice(users), OPEN: self.random.choice(EVERYONE[:4])}
            change = edit(SETTING, set=[StoredSetting("", *each) for each in configs.items()])
            if not self.changes:
                change |= edit(FEATURE, set=[StoredFeature(METADATA_VERSION, LEVELS[release])])
        elif kind == "rel":
            release = "4.3" if release == "4.4" else "4.4"
            change = edit(FEATURE, set=[StoredFeature(METADATA_VERSION, LEVELS[release])])
        else:
            change, acls = self._acl_change(acls)
        self.changes.append(change)
        self.past.append(Then(acls, configs, release))
        return change

    def _acl_change(
        self, before: tuple[tuple[Any, ...], ...]
    ) -> tuple[Change, tuple[tuple[Any, ...], ...]]:
        count = self.random.choice((1, 1, 1, 2, 5, 20))
        # Sets of all sizes: up to the most, then down again.
        grows = (len(self.changes) // 97) % 2 == 0
        gone = [] if grows and before else self.random.sample(before, min(count, len(before)))
        wanted = count if not gone or self.random.random() < 0.3 else 0
        made = dict.fromkeys(self._row() for _ in range(wanted))
        new = [row for row in made if row not in before][: ACLS - len(before)]
        if not new and not gone:
            gone = [self.random.choice(before)]
        deleted = [StoredBinding(self._ids.pop(row), _binding(row)) for row in gone]
        for row in new:
            self._ids[row] = f"{len(self.changes):010}{new.index(row):012}"
        stored = [StoredBinding(self._ids[row], _binding(row)) for row in new]
        left = tuple(row for row in before if row not in gone)
        return edit(ACL, set=stored, deleted=deleted), (*left, *new)

    def _row(self) -> tuple[Any, ...]:
        choose = self.random.choice
        return (
            choose(self.types),
            choose(self.names),
            choose((PatternType.LITERAL.value, PatternType.PREFIXED.value)),
            choose([*self.principals, WILDCARD_PRINCIPAL]),
            choose(self.hosts),
            choose([*self.operations, AclOperation.ALL.value]),
            choose([AclPermissionType.ALLOW.value] * 3 + [AclPermissionType.DENY.value]),
        )

    def _one_of(self, weights: Mapping[str, int]) -> str:
        return self.random.choices(list(weights), list(weights.values()))[0]

    def questions(self, acls: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Return questions about the names, and about names that begin with them."""
        choose = self.random.choice
        found: list[list[Any]] = []
        while len(found) < QUESTIONS:
            kind, _, name = choose(self.principals).partition(":")
            about = choose([*self.names, f"{choose(self.names)}b", "zz"])
            operation, type_ = (
                choose([*self.operations, AclOperation.DESCRIBE.value]),
                choose(self.types),
            )
            each = [kind, name, choose(self.addresses), operation, type_, about, 3, 29, 1]
            if not kafka_is_lost(acls, each):
                found.append([*each, True, choose((True, False))])
        return found


def _binding(row: tuple[Any, ...]) -> AclBinding:
    resource_type, name, pattern_type, principal, host, operation, permission_type = row
    return AclBinding(
        ResourcePattern(ResourceType(resource_type), name, PatternType(pattern_type)),
        AccessControlEntry(
            principal, host, AclOperation(operation), AclPermissionType(permission_type)
        ),
    )


async def compare(
    history: History,
    store: Portable,
    revisions: int,
    authorizers: Callable[[str], AuthorizerOracle],
    totals: Totals,
) -> None:
    """Compare our decisions as of random revisions with Kafka's about the replay."""
    newest, allowed = len(history.changes), 0
    for number in range(revisions):
        revision = history.random.randint(1, newest) if number else newest
        then = history.past[revision]
        world = {
            "configs": dict(then.configs),
            "acls": [list(row) for row in then.acls],
            "added": [],
            "removed": [],
            "questions": history.questions(then.acls),
            "by_type": [],
            "filters": [[1, None, 1, None, None, 1, 1]],
        }
        state: State = await state_at(store, Moment(revision, None))
        release = ORACLES[release_of(state.features)]
        recorded = settings_of(state.settings, None)
        ours = our_answer(world | {"configs": recorded}, release, state.acls)
        kafka = await asyncio.to_thread(authorizers(ORACLES[then.release]).answer, world)
        found = compared(world, kafka, ours)
        assert not found.different, f"revision {revision}: {found.different[0][:2000]}"
        assert release == ORACLES[then.release]
        totals.compared[f"decisions as of a past revision, of {release}"] += QUESTIONS
        allowed += sum(each[0] == "ALLOWED" for each in kafka["questions"] if "refused" not in each)
        totals.accepted.update(found.accepted)
    # Neither outcome is rare.
    assert 0.2 < allowed / (revisions * QUESTIONS) < 0.8


@asynccontextmanager
async def embedded(history: History, changes: int, folder: Path) -> AsyncIterator[Portable]:
    """Write a history with restarts."""
    while len(history.changes) < changes:
        store = started_store(folder / "data")
        for _ in range(20):
            batch = min(history.random.randint(1, 30), changes - len(history.changes))
            if batch:
                await commit(store, *(history.next() for _ in range(batch)))
        store.close()
    async with reading(folder / "data", alone=True) as found:
        yield found


@asynccontextmanager
async def shared(history: History, changes: int, database: Database) -> AsyncIterator[Portable]:
    """Write a history by two nodes in turn."""
    await prepared(database)
    nodes = [await asyncpg.connect(database.url()) for _ in range(2)]
    try:
        while len(history.changes) < changes:
            batch = min(history.random.randint(1, 30), changes - len(history.changes))
            await write(history.random.choice(nodes), *(history.next() for _ in range(batch)))
        async with portable.reading(nodes[0], "store", alone=False) as found:
            yield found
    finally:
        await asyncio.gather(*(node.close() for node in nodes))


@pytest.mark.parametrize(("changes", "revisions"), LENGTHS)
async def test_decisions_of_the_past_of_an_embedded_store(
    authorizers: Callable[[str], AuthorizerOracle],
    totals: Totals,
    tmp_path: Path,
    changes: int,
    revisions: int,
) -> None:
    """They are those of Kafka with the ACLs, settings and release of then; of a backup too."""
    history = History(changes)
    async with embedded(history, changes, tmp_path) as store:
        await compare(history, store, revisions, authorizers, totals)
    backup(tmp_path / "data", tmp_path / "acls.backup")
    async with open_backup(parse_address(f"backup:{tmp_path / 'acls.backup'}")) as store:
        await compare(history, store, revisions // 20, authorizers, totals)


@pytest.mark.parametrize(("changes", "revisions"), LENGTHS)
async def test_decisions_of_the_past_of_a_shared_store(
    authorizers: Callable[[str], AuthorizerOracle],
    totals: Totals,
    database: Database,
    changes: int,
    revisions: int,
) -> None:
    """The same, of a history that several nodes wrote."""
    history = History(changes + 1)
    async with shared(history, changes, database) as store:
        await compare(history, store, revisions, authorizers, totals)
