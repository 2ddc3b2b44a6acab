"""Changing SCRAM credentials over the wire: in order, durable before they count.

Each change is judged on ``_tail``, the state with every change that is under way, and counts when
the store has it: at once for logins and re-authentications that begin then, while sessions that
are open go on. When the store fails, it fails all changes that are under way, and the tail goes
back to what is durable. ACLs and topics follow the same rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.app.topic_changes import author_of
from doorkeeper.credential_alteration import altered
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.storage.contract import Change, StorageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from doorkeeper.authn.credentials import ScramCredential
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.node import AlterCredentials, RequestContext
    from doorkeeper.scram_users import ScramUsers
    from doorkeeper.storage.contract import Store

    Results = list[ApiError | None]


class CredentialChanges:
    """Everyone with SCRAM credentials, and who changes them. For the loop's thread."""

    def __init__(
        self,
        users: ScramUsers,
        store: Store,
        loop: asyncio.AbstractEventLoop,
        logger: Logger,
    ) -> None:
        """Begin with the users of the store."""
        self._visible = users
        self._tail = users
        self._store = store
        self._loop = loop
        self._waiting: list[Callable[[], None]] | None = []
        self._log: Logger = logger

    def begin(self) -> None:
        """Let changes go to the store; until then, while ACLs are read from it, they wait."""
        waiting, self._waiting = self._waiting or [], None
        for submit in waiting:
            submit()

    @property
    def users(self) -> ScramUsers:
        """Return everyone whose credentials are durable."""
        return self._visible

    def credential(self, mechanism: str, user: str) -> ScramCredential | None:
        """Return what a login is checked against now."""
        return self._visible.credential(mechanism, user)

    def usual_iterations(self, mechanism: str) -> int:
        """Return the iterations that most credentials of a mechanism have."""
        return self._visible.usual_iterations(mechanism)

    def alter_credentials(
        self, change: AlterCredentials, context: RequestContext
    ) -> asyncio.Future[Sequence[ApiError | None]]:
        """Change what may be changed in one revision; one result for each user, in order."""
        deleted, replaced, errors = altered(change, self._tail)
        self._tail = self._tail.changed(replaced, deleted)
        results: Results = [errors.get(user) for user in change.users]
        stored = Change(
            author=author_of(context), credentials_set=replaced, credentials_deleted=deleted
        )
        return self._submitted(stored, results)

    def _submitted(
        self, change: Change, results: Results
    ) -> asyncio.Future[Sequence[ApiError | None]]:
        answered: asyncio.Future[Sequence[ApiError | None]] = self._loop.create_future()

        def on_done(outcome: int | StorageError) -> None:
            if isinstance(outcome, StorageError):
                self._tail = self._visible
                self._log.error("credentials could not be stored", cause=str(outcome))
                failed = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The change could not be stored.")
                done: Results = [error or failed for error in results]
            else:
                self._visible = self._visible.changed(
                    change.credentials_set, change.credentials_deleted
                )
                self._tell(change)
                done = results
            if not answered.done():
                answered.set_result(done)

        if self._waiting is None:
            self._store.submit(change, on_done)
        else:
            self._waiting.append(lambda: self._store.submit(change, on_done))
        return answered

    def _tell(self, change: Change) -> None:
        if not change:
            return
        self._log.info(
            "SCRAM credentials changed",
            set=", ".join(f"{key.user} ({key.mechanism})" for key, _ in change.credentials_set),
            deleted=", ".join(f"{user} ({name})" for user, name in change.credentials_deleted),
            principal=change.author.principal,
            host=change.author.host,
        )
