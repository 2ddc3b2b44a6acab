"""The Kafka clusters of a server: what it uses of ``doorkeeper.sync``, which plugs into it.

That package is above the server, and imported only where ``doorkeeper.clusters.file`` names a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec.structs import asdict

from doorkeeper.server.app.errors import StartError

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.api.node import AuthorizerUpdates
    from doorkeeper.server.authorizer.guard import GuardedAuthorizer
    from doorkeeper.server.operations.audit.audit_log import AuditLog
    from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent
    from doorkeeper.server.runtime.logger import Logger
    from doorkeeper.server.runtime.metrics.series import Meters
    from doorkeeper.server.state.log import StateLog

PACKAGE: Final = "doorkeeper.sync"


class Config(Protocol):
    """One cluster of the file, as far as the server looks at it."""

    @property
    def name(self) -> str: ...

    @property
    def store(self) -> str: ...

    @property
    def is_enforced(self) -> bool: ...

    def refusal_of(self, store_id: str) -> str: ...


class Fleet(Protocol):
    """All clusters of the server. For the event loop's thread."""

    def start(self) -> None:
        """Start the tasks; they wait until the ACLs are loaded."""

    async def use(self, configs: Sequence[Any]) -> None:
        """Use the clusters of another file; see ``configs_of``."""

    async def close(self) -> None:
        """End the tasks; the clusters stay as they are."""

    def acknowledging(self, updates: AuthorizerUpdates) -> AuthorizerUpdates:
        """Return changes of ACLs that complete when all brokers enforce them."""
        ...

    def read(self, meters: Meters) -> None:
        """Register the receipts and differences of the clusters."""

    def status(self) -> list[dict[str, Any]]:
        """Return the status of all clusters, for JSON."""
        ...

    def summary(self) -> str:
        """Return one line about all clusters, for readiness."""
        ...


def configs_of(file: Path | None) -> Sequence[Config]:
    """Return the clusters of a file; none without a file.

    Raises:
        StartError: with every fault of the file.
    """
    if file is None:
        return ()
    configs: Sequence[Config] = import_module(f"{PACKAGE}.config").load(file)
    return configs


def fleet_of(
    file: Path | None,
    log: StateLog,
    authorizer: GuardedAuthorizer | None,
    on_event: Callable[[ClusterEvent], None],
    now_ms: Callable[[], int],
) -> Fleet | None:
    """Return the clusters of a file, not started; None without a file.

    Raises:
        StartError: with every fault of the file; or the authorizer keeps its ACLs elsewhere.
    """
    if file is None:
        return None
    # With another authorizer the state has no ACLs, and clusters would lose theirs.
    if authorizer is None or not authorizer.has_snapshot:
        name = "no authorizer" if authorizer is None else authorizer.name
        raise StartError(
            f"authorizer.class.name: found {name}; expected: StandardAuthorizer, because only its"
            " ACLs are sent to the clusters of doorkeeper.clusters.file"
        )
    fleet: Fleet = import_module(f"{PACKAGE}.fleet").ClusterFleet(
        configs_of(file), log, on_event, now_ms
    )
    return fleet


def record_event(logger: Logger, audit_log: AuditLog | None, event: ClusterEvent) -> None:
    """Record an event of a cluster in the log, and in the audit log if there is one."""
    write = logger.warning if event.is_warning else logger.info
    fields = asdict(event)
    del fields["kind"]
    write(event.kind.value, **{name: value for name, value in fields.items() if value})
    if audit_log is not None:
        audit_log.record_cluster(event)
