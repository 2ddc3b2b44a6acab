"""audit_log: the trail as the server sees it, with its thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
from doorkeeper.server.config.audit_keys import Sync
from doorkeeper.server.operations.audit.audit_log import AuditLog
from doorkeeper.server.runtime.metrics.meters import AuditMeter
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Committed, edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.log import origin_of
from testkit.acl import allow, request_of
from testkit.load import scaled
from testkit.trails import LOGIN, Disk, Log, Time, audit_settings, lines_in

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders", PatternType.LITERAL)
BINDING = allow("bob", AclOperation.READ, ORDERS)
CHANGE = Committed(
    1, edit(ACL, set=[StoredBinding("id-1", BINDING)]), origin_of(request_of("root"))
)


def opened(folder: Path, **changes: Any) -> AuditLog:
    return AuditLog(
        audit_settings(folder, **changes),
        folder,
        asyncio.get_running_loop(),
        clocks=Time().clocks,
        logger=Log(),
        meter=AuditMeter(),
    )


async def test_events_from_start_to_stop_are_numbered(tmp_path: Path) -> None:
    trail = opened(tmp_path)
    trail.record_start(cluster_id="c", version="1", authorizer=None, listeners=["A=b:1"])
    trail.on_decision(
        request_of("bob"), [Action(AclOperation.READ, ORDERS)], [AuthorizationResult.DENIED]
    )
    trail.record_login(LOGIN)
    trail.record_commit(CHANGE)
    trail.record_commit(replace(CHANGE, change={}))
    trail.record_commit(replace(CHANGE, origin=None))
    trail.record_reload(None)
    trail.record_reload("a wrong key")
    trail.close()
    trail.close()

    events = lines_in(tmp_path)
    kinds = [event["kind"] for event in events]
    assert kinds == ["start", "change", "reload", "reload", "decision", "login", "stop"]
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5, 6, 7]
    assert (events[0]["sync"], events[0]["decisions"]) == ("interval", "all")
    assert [event.get("outcome") for event in events[2:4]] == ["SUCCEEDED", "FAILED"]


async def test_full_disk_rejects_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    strict, usual = opened(tmp_path / "s", sync=Sync.STRICT), opened(tmp_path / "u")
    disk.full = disk.no_room = True
    answers = []
    for trail in (strict, usual):
        assert trail.refusal() is None
        trail.record_commit(CHANGE)
        answers.append((await trail.wait_until_recorded(scaled(20)), trail.refusal()))

    (failed, refused), fine = answers
    assert failed == "No space left on device"
    assert refused is not None
    assert refused.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert refused.message == (
        "Nothing was changed: the audit log cannot be written, and doorkeeper.audit.sync is"
        " strict: No space left on device"
    )
    assert fine == (None, None)
    disk.full = disk.no_room = False
    strict.close()
    usual.close()
    assert [event["kind"] for event in lines_in(tmp_path / "s")] == ["change", "stop"]
    assert [event["kind"] for event in lines_in(tmp_path / "u")] == ["dropped", "stop"]


async def test_failed_change_is_not_answered_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trail = opened(tmp_path, sync=Sync.STRICT)
    waiters: list[asyncio.Future[str | None]] = []
    with monkeypatch.context() as patched:
        patched.setattr(trail._queue, "put", lambda item, **_: waiters.append(item.waiter))
        trail.record_commit(CHANGE)
        trail.record_commit(CHANGE)

    of_the_first = asyncio.ensure_future(trail.wait_until_recorded(scaled(20)))
    await asyncio.sleep(0)
    waiters[0].set_result("Input/output error")
    waiters[1].set_result(None)

    assert await of_the_first == "Input/output error"
    trail.close()


async def test_hanging_disk_blocks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strict, usual = opened(tmp_path / "s", sync=Sync.STRICT), opened(tmp_path / "u")
    waiters: list[asyncio.Future[str | None]] = []
    with monkeypatch.context() as patched:
        for trail in (strict, usual):
            patched.setattr(trail._queue, "put", lambda item, **_: waiters.append(item.waiter))
            trail.record_commit(CHANGE)

    assert await strict.wait_until_recorded(0) == "the disk does not respond"
    refused = strict.refusal()
    assert refused is not None
    assert refused.message == (
        "Nothing was changed: the audit log cannot be written, and doorkeeper.audit.sync is"
        " strict: the disk does not respond"
    )
    assert (await usual.wait_until_recorded(0), usual.refusal()) == (None, None)
    waiters[0].set_result(None)
    assert (strict.refusal(), await strict.wait_until_recorded(0)) == (None, None)
    strict.close()
    usual.close()
