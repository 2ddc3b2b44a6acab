"""doorkeeper.server.app.audit_log: the trail of the configuration, and who is watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.app.audit_log import open_audit_log, watch
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.runtime.metrics.meters import AuditMeter
from testkit.acl import READ, request_of, to, topic
from testkit.plugins import InMemory
from testkit.settings import settings_of
from testkit.trails import Log, lines_in

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.operations.audit.audit_log import AuditLog


def opened(**audit: object) -> AuditLog | None:
    text = "".join(f"doorkeeper.audit.{name}={value}\n" for name, value in audit.items())
    return open_audit_log(settings_of(text), Log(), AuditMeter())


async def test_unusable_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "f").touch()

    with pytest.raises(StartError, match=r"doorkeeper\.audit\.dir: .*cannot be written"):
        opened(dir=tmp_path / "f")


@pytest.mark.parametrize(("decisions", "kinds"), [("all", 1), ("none", 0)])
async def test_decisions_are_recorded(tmp_path: Path, decisions: str, kinds: int) -> None:
    """The decisions of our own authorizer have rules; with none there are no decisions."""
    trail = opened(dir=tmp_path, decisions=decisions, compression="none")
    assert trail is not None
    authorizer = StandardAuthorizer()
    authorizer.configure({"super.users": "User:root"})
    guarded = GuardedAuthorizer(authorizer)
    watch(trail, guarded, authorizer)

    guarded.authorize(request_of("root"), [to(READ, topic("orders"))])
    trail.close()

    events = lines_in(tmp_path)
    assert [event.get("rule") for event in events] == ["SuperUser"] * kinds + [None]


async def test_only_unlogged_changes_are_reported() -> None:
    class Reports:
        records_decisions = False

        def explain_by(self, basis: object) -> None:
            """Nothing is explained here."""

        def record_update(self, items: object, results: object, context: object) -> None:
            """Nothing is updated here."""

    trail: Any = Reports()
    standard = GuardedAuthorizer(StandardAuthorizer())
    plug_in = GuardedAuthorizer(InMemory())
    for guarded in (standard, plug_in):
        watch(trail, guarded, guarded.inner)

    assert standard.on_update is None
    assert plug_in.on_update == trail.record_update
