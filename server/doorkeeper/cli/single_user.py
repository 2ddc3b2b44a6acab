"""The server of a stopped store, in single-user mode: that of ``doorkeeper serve`` without ports.

``doorkeeper.server.app.assembly`` starts it. A command is its only client, over a socket pair, with
the admin client that ``kafka://`` uses; changes are in the audit log of the server before the
response. The embedded store belongs to one process, so that its server must be stopped. With a
shared store the command works beside the nodes, without becoming one.

Some commands repair what could keep a server from starting: ``config reset`` and ``store release``.
They stop at the state log (``open_log``), and commit a change of their own: the Kafka protocol has
no request for it.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from doorkeeper.client.config import ClientConfig
from doorkeeper.server.app.assembly import Assembly
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.app.node import OPERATOR_ADDRESS
from doorkeeper.server.config.keys import UPDATE_TIMEOUT_MS
from doorkeeper.server.operations.logs.pipeline import command_logs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.schema.change import Origin
    from doorkeeper.server.state.submissions import Plan

R = TypeVar("R")

_HINT: Final = "use its address (kafka://HOST:PORT), or run the command with an unused node.id"

_LATER_MS: Final = 5_000
"""The client waits this much longer than the server, whose answer says what timed out."""


@asynccontextmanager
async def open_log(settings: Settings, *, make_store: bool = False) -> AsyncIterator[Assembly]:
    """Open the configured store and the state log over it, and nothing else.

    Raises:
        StorageError: a server uses the store, there is none, or it cannot be opened.
    """
    with command_logs() as logs:
        async with Assembly(settings, logs, single_user=True) as assembly:
            await assembly.open_log(make_store=make_store)
            yield assembly


@asynccontextmanager
async def start(
    settings: Settings, *, changes: bool, authorizer: bool, make_store: bool = False
) -> AsyncIterator[Assembly]:
    """Start the server; the parameters are those of ``Assembly.start_single_user``.

    Raises:
        StorageError: a server uses the store, there is none, or it cannot be opened.
        StartError: another part did not start.
    """
    async with open_log(settings, make_store=make_store) as assembly:
        with _hinting():
            await assembly.start_single_user(changes=changes, authorizer=authorizer)
        yield assembly


def client_config(assembly: Assembly, client_id: str = "") -> ClientConfig:
    """Return the configuration of a client; ``client_id`` is that of the author of changes."""
    wait_ms = assembly.settings[UPDATE_TIMEOUT_MS] + _LATER_MS
    host, port = OPERATOR_ADDRESS
    return ClientConfig(
        bootstrap=f"{host}:{port}",
        connect=assembly.connect_operator,
        client_id=client_id,
        request_timeout_ms=wait_ms,
        timeout_ms=wait_ms,
        # Never: the reason is in this process, and another attempt would meet it too.
        retry_ms=wait_ms,
    )


async def commit(assembly: Assembly, plan: Plan[R], origin: Origin) -> R:
    """Commit one change to the state log, which has started; return the result of its plan.

    The audit log has the change on return.

    Raises:
        StorageError: it cannot be written.
        StartError: the audit log cannot be written.
    """
    with _hinting():
        assembly.open_audit_log()
    assembly.keeps_files = True
    audit_log = assembly.audit_log
    if audit_log is not None and (refusal := audit_log.refusal()) is not None:
        raise StartError(str(refusal))
    completed = await assembly.log.submit(plan, origin)
    if audit_log is not None:
        timeout_s = assembly.settings[UPDATE_TIMEOUT_MS] / 1000
        problem = await audit_log.wait_until_recorded(timeout_s)
        if problem is not None:
            text = f"The change was made, but the audit log could not be written: {problem}"
            raise StartError(text)
    return completed.result


@contextmanager
def _hinting() -> Iterator[None]:
    """Say what to do where a server has the audit log, as with a shared store."""
    try:
        yield
    except StartError as error:
        from doorkeeper.server.operations.audit.files import AuditLogInUse

        if not isinstance(error.__cause__, AuditLogInUse):
            raise
        raise StartError(f"{error}; {_HINT}") from error
