"""doorkeeper.audit.audit_log: the trail as the server sees it, with its thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acl.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.audit.audit_log import AuditLog
from doorkeeper.audit.files import AuditLogError
from doorkeeper.audit.options import Recorded, Sync
from doorkeeper.authorizer.contract import Action, AuthorizationResult
from doorkeeper.errors import ErrorCode
from doorkeeper.kinds.acls import StoredBinding
from doorkeeper.kinds.change import Committed, edit
from doorkeeper.kinds.declared import ACL
from doorkeeper.state.log import origin_of
from testkit.acl import allow, request_of
from testkit.trails import LOGIN, Disk, Log, Meter, Time, lines_in, options

if TYPE_CHECKING:
    from pathlib import Path

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders", PatternType.LITERAL)
BINDING = allow("bob", AclOperation.READ, ORDERS)
CHANGE = Committed(
    1, edit(ACL, set=[StoredBinding("id-1", BINDING)]), origin_of(request_of("root"))
)


def opened(folder: Path, **changes: Any) -> AuditLog:
    return AuditLog.open(
        options(folder, **changes),
        asyncio.get_running_loop(),
        clocks=Time().clocks,
        logger=Log(),
        meter=Meter(),
    )


async def test_a_life(tmp_path: Path) -> None:
    """From start to stop everything that is told is a line, numbered without gaps."""
    trail = opened(tmp_path)
    trail.record_start(cluster_id="c", version="1", authorizer=None, listeners=["A=b:1"])
    trail.on_decision(
        request_of("bob"), [Action(AclOperation.READ, ORDERS)], [AuthorizationResult.DENIED]
    )
    trail.record_login(LOGIN)
    trail.record_commit(CHANGE)
    trail.record_commit(CHANGE._replace(change={}))
    trail.record_commit(CHANGE._replace(origin=None))
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


async def test_a_change_is_recorded(tmp_path: Path) -> None:
    """Who waits goes on when it is in the file; without a change nothing is waited for."""
    trail = opened(tmp_path, sync=Sync.STRICT)
    assert await trail.wait_until_recorded() is None
    trail.record_commit(CHANGE)

    assert await trail.wait_until_recorded() is None

    assert [event["revision"] for event in lines_in(tmp_path)] == [1]
    trail.close()


async def test_a_full_disk_refuses_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With strict a change that could not be recorded is answered with an error, and the next one
    is refused before it is made; without strict neither."""
    disk = Disk(monkeypatch)
    strict, usual = opened(tmp_path / "s", sync=Sync.STRICT), opened(tmp_path / "u")
    disk.full = disk.no_room = True
    answers = []
    for trail in (strict, usual):
        assert trail.refusal() is None
        trail.record_commit(CHANGE)
        answers.append((await trail.wait_until_recorded(), trail.refusal()))

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


async def test_each_failure_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To all who wait for a change that was not recorded, and not to those that come after it."""
    disk = Disk(monkeypatch)
    trail = opened(tmp_path, sync=Sync.STRICT)
    told = []
    for disk.full in (False, True):
        disk.no_room = disk.full
        trail.record_commit(CHANGE)
        told.append(await asyncio.gather(*[trail.wait_until_recorded() for _ in range(2)]))

    assert told == [[None, None], ["No space left on device"] * 2]
    assert await trail.wait_until_recorded() is None
    disk.full = disk.no_room = False
    trail.close()


async def test_a_folder_of_another_server(tmp_path: Path) -> None:
    """A folder that another server of the node writes is refused; decisions may be left out."""
    trail = opened(tmp_path, decisions=Recorded.NONE)

    with pytest.raises(AuditLogError, match="another server"):
        opened(tmp_path)

    assert not trail.records_decisions
    trail.close()
    opened(tmp_path).close()
