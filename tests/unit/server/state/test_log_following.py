"""The state log: what other nodes write, what is not in the store, and how old the state is."""

from __future__ import annotations

import uuid

from doorkeeper.server.resources.cluster import Member
from doorkeeper.server.runtime.metrics.meters import StoreStatus
from doorkeeper.server.schema.change import SERVER, Committed, edit
from doorkeeper.server.schema.declared import CONFIG, CREDENTIAL, StoredCredential
from doorkeeper.server.state.store import LogEntry
from testkit.recording_logger import RecordingLogger
from testkit.state_logs import (
    OTHER,
    Database,
    alone,
    counting,
    keys_of,
    row,
    sharing,
    submit,
    turns,
    write,
)


async def test_changes_of_other_nodes_are_followed() -> None:
    log, store = await sharing()
    heard: list[Committed] = []
    log.subscribe(heard.append)
    write(store.database, "a")
    write(store.database, "b")

    await store.database.ring()
    await turns()

    assert keys_of(log.state) == ["a", "b"]
    assert [(each.revision, each.origin) for each in heard] == [(1, None), (2, None)]
    assert heard[1].change == edit(CONFIG, set=[row("b")])
    status = log.status()
    assert (status.revision, status.head_revision) == (2, 2)


async def test_two_nodes_plan_on_each_others_changes() -> None:
    database = Database()
    one, _ = await sharing(database)
    two, _ = await sharing(database)

    for number in range(10):
        node = (one, two)[number % 2]
        assert (await node.submit(counting, SERVER)).revision == number + 1
    await database.ring()
    await turns()

    for node in (one, two):
        found = node.state.configs.get("", "count")
        assert found is not None
        assert found.value == "10"


async def test_pruned_log_causes_a_full_reload() -> None:
    log, store = await sharing()
    logger = RecordingLogger()
    log._log = logger
    heard: list[Committed] = []
    log.subscribe(heard.append)
    log.amend(members=(Member(1, {}, None, ""),))
    for name in "abc":
        write(store.database, name)
    del store.database.logged[:2]

    await store.database.ring()
    while log.state.revision < 3:  # the ACLs are loaded in a thread
        await turns(1)

    assert keys_of(log.state) == ["a", "b", "c"]
    assert store.loads == 1
    assert len(log.state.members) == 1
    assert heard == [Committed(3, {}, None)]
    assert [event for _, event, _ in logger.lines] == ["the complete state was reloaded"]
    assert (await submit(log, "d")).revision == 4


async def test_unappliable_change_causes_a_full_reload() -> None:
    log, store = await sharing()
    logger = RecordingLogger()
    log._log = logger
    heard: list[Committed] = []
    log.subscribe(heard.append)
    gone = StoredCredential("nobody", "SCRAM-SHA-256", b"", b"", b"", 4096)
    change = {**edit(CREDENTIAL, deleted=[gone]), **edit(CONFIG, set=[row("a")])}
    store.database.write([LogEntry(1, OTHER, change)], uuid.uuid4())
    write(store.database, "later")

    assert (await submit(log, "b")).revision == 3

    assert keys_of(log.state) == ["a", "b", "later"]
    assert store.loads == 1
    assert heard[0] == Committed(2, {}, None)
    assert [each.revision for each in heard] == [2, 3]
    assert [event for _, event, _ in logger.lines] == [
        "a logged change cannot be applied",
        "the complete state was reloaded",
    ]


async def test_age_of_a_shared_store() -> None:
    now_s = 5.0
    log, store = await sharing(clock=lambda: now_s)
    await submit(log, "a")
    now_s = 8.0

    assert log.status() == StoreStatus(True, 1, 1, 3.0)
    store.is_away = True
    assert log.status() == StoreStatus(False, 1, 1, 3.0)
    mine, _ = await alone()
    assert mine.status() == StoreStatus(True, 0, 0, 0.0)


async def test_local_values_change_during_a_commit() -> None:
    log, store = await alone()
    store.gate.clear()
    done = submit(log, "a")
    await turns()

    log.amend(members=(Member(7, {}, None, ""),))
    assert keys_of(log.state) == []
    store.gate.set()
    await done

    assert keys_of(log.state) == ["a"]
    assert [member.node_id for member in log.state.members] == [7]
    assert log.state.revision == 1


async def test_amended_state_is_a_new_object() -> None:
    log, _ = await alone()
    before = log.state

    log.amend()
    assert log.state is not before
    assert log.state == before
