"""Changing SCRAM credentials over the wire: in order, durable before they count.

Each change is judged on ``_tail``, the state with every change that is under way, and counts when
the store has it: at once for logins and re-authentications that begin then, while sessions that
are open go on. When the store fails, it fails all changes that are under way, and the tail goes
back to what is durable. ACLs and topics follow the same rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.app.not_stored import not_stored
from doorkeeper.app.topic_changes import author_of
from doorkeeper.credential_alteration import altered
from doorkeeper.scram_users import ScramUsers
from doorkeeper.storage.contract import Change, Participant, StorageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from doorkeeper.authn.credentials import ScramCredential
    from doorkeeper.errors import ApiError
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.node import AlterCredentials, RequestContext
    from doorkeeper.storage.contract import Store, StoredState


class CredentialChanges(Participant):
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
        store.join(self)

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
        answered: asyncio.Future[Sequence[ApiError | None]] = self._loop.create_future()
        author = author_of(context)
        stored = Change(author=author)
        errors: Mapping[str, ApiError] = {}

        def plan() -> Change:
            nonlocal stored, errors
            # A shared store may ask twice, and salted passwords are hashed each time: it is rare.
            deleted, replaced, errors = altered(change, self._tail)
            self._tail = self._tail.changed(replaced, deleted)
            stored = Change(author=author, credentials_set=replaced, credentials_deleted=deleted)
            return stored

        def on_done(outcome: int | StorageError) -> None:
            failed = None
            if isinstance(outcome, StorageError):
                self._tail = self._visible
                self._log.error("credentials could not be stored", cause=str(outcome))
                failed = not_stored(outcome)
            else:
                self._visible = _after(self._visible, stored)
                self._tell(stored)
            if not answered.done():
                answered.set_result([errors.get(user) or failed for user in change.users])

        if self._waiting is None:
            self._store.submit(plan, on_done)
        else:
            self._waiting.append(lambda: self._store.submit(plan, on_done))
        return answered

    def rewind(self) -> None:
        """Forget what was planned and is not durable."""
        self._tail = self._visible

    def follow(self, change: Change) -> None:
        """Let a change of another node count."""
        self._visible = self._tail = _after(self._visible, change)

    async def reload(self, state: StoredState) -> None:
        """Let a whole state count."""
        self._visible = self._tail = ScramUsers(state.credentials)

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


def _after(users: ScramUsers, change: Change) -> ScramUsers:
    if not change.credentials_set and not change.credentials_deleted:
        return users
    return users.changed(change.credentials_set, change.credentials_deleted)
