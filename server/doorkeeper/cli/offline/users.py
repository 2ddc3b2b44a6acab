"""SCRAM users in the store of a stopped server.

This creates the first administrator, before any client can authenticate to a server.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Final

from doorkeeper.base.credentials import base_36, credential_of
from doorkeeper.cli.offline.log import OfflineAuditLog, audit_log_output, offline_log, submit
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.schema.change import Author, Change, Origin, edit
from doorkeeper.server.schema.declared import CREDENTIAL, StoredCredential
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.state import State
from doorkeeper.server.state.submissions import Plan

# The origin in the change log.
ORIGIN: Final = Origin(Author("Server:doorkeeper", "", "", "doorkeeper users"))

_SALT_BYTES = 17


class OfflineUsers:
    """The SCRAM users of a store, in which nobody logs in."""

    login = None

    def __init__(self, log: StateLog, audit_log: OfflineAuditLog, runner: asyncio.Runner) -> None:
        """``log`` has not started; ``runner`` has the event loop of both logs."""
        self._log = log
        self._audit_log = audit_log
        self._runner = runner

    def iterations(self) -> Mapping[str, Mapping[str, int]]:
        """Return the iterations of each user by mechanism; users are sorted."""
        users = self._log.state.credentials
        return {name: users.iterations_of(name) for name in users.names()}

    def put(self, user: str, iterations: Mapping[str, int], password: str) -> None:
        """Set a user's password with iterations by mechanism; each mechanism has its own salt.

        Raises:
            StorageError: it cannot be written.
            StartError: the audit log cannot be written.

        """
        rows = []
        for mechanism, rounds in iterations.items():
            # A salt as Kafka's tools make them; each mechanism gets its own.
            salt = base_36(os.urandom(_SALT_BYTES))
            credential = credential_of(mechanism, password, rounds, salt)
            rows.append(StoredCredential(user, mechanism, *credential))
        self._submit(lambda _state: edit(CREDENTIAL, set=rows))

    def delete(self, user: str, mechanisms: Iterable[str]) -> None:
        """Delete existing credentials.

        Raises:
            StorageError: it cannot be written.
            StartError: the audit log cannot be written.

        """

        def plan(state: State) -> Change:
            found = ((name, state.credentials.credential(name, user)) for name in mechanisms)
            rows = [StoredCredential(user, name, *each) for name, each in found if each is not None]
            return edit(CREDENTIAL, deleted=rows)

        self._submit(plan)

    def _submit(self, plan: Plan) -> None:
        self._runner.run(submit(self._log, self._audit_log, plan, ORIGIN))


@contextmanager
def offline_users(settings: Settings, *, make_store: bool = False) -> Iterator[OfflineUsers]:
    """Open the configured store; a shared one also while its nodes run.

    ``make_store`` permits the creation of the store.

    Raises:
        StorageError: a server uses the store, there is none, or it cannot be opened.

    """
    with audit_log_output(settings), asyncio.Runner() as runner:
        opened = AsyncExitStack()
        entering = opened.enter_async_context(offline_log(settings, make_store=make_store))
        log, audit_log = runner.run(entering)
        try:
            yield OfflineUsers(log, audit_log, runner)
        finally:
            runner.run(opened.aclose())
