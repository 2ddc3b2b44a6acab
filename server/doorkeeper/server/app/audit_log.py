"""The configured audit log, and the authorizer's decisions in it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.contract import Authorizer
from doorkeeper.server.authorizer.standard import KeepsInStore, StandardAuthorizer
from doorkeeper.server.config.audit_keys import AUDIT_DIR
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.metrics.meters import AuditMeter

if TYPE_CHECKING:
    from doorkeeper.server.authorizer.guard import GuardedAuthorizer
    from doorkeeper.server.operations.audit.audit_log import AuditLog


def open_audit_log(settings: Settings, logger: Logger, meter: AuditMeter) -> AuditLog | None:
    """Open the audit log; return None if none is configured.

    Raises:
        StartError: its folder cannot be used.
    """
    folder = settings[AUDIT_DIR]
    if folder is None:
        return None
    # A server without an audit log imports none of its modules.
    from doorkeeper.server.operations.audit.audit_log import AuditLog
    from doorkeeper.server.operations.audit.files import AuditLogError
    from doorkeeper.server.operations.audit.writer import Clocks

    loop, clocks = asyncio.get_running_loop(), Clocks(time.time_ns, time.monotonic)
    try:
        return AuditLog(settings, folder, loop, clocks=clocks, logger=logger, meter=meter)
    except AuditLogError as error:
        raise StartError(f"{AUDIT_DIR}: {error}") from error


def watch(audit_log: AuditLog, guarded: GuardedAuthorizer, authorizer: Authorizer) -> None:
    """Record an authorizer's decisions, and its changes unless the state log has them."""
    # A subclass may decide otherwise than the ACLs say.
    if type(authorizer) is StandardAuthorizer:
        audit_log.explain_by(authorizer)
    if audit_log.records_decisions:
        guarded.on_decision = audit_log.on_decision
    if not isinstance(authorizer, KeepsInStore):
        guarded.on_update = audit_log.record_update
