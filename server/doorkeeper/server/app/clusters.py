"""The Kafka clusters of a server. Modules for them are imported only with a file of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.app.errors import StartError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.server.api.node import AuthorizerUpdates
    from doorkeeper.server.authorizer.guard import GuardedAuthorizer
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.operations.audit.audit_log import AuditLog
    from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent
    from doorkeeper.server.runtime.logger import Logger
    from doorkeeper.server.state.log import StateLog
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.fleet import ClusterFleet


def clusters_of(file: Path | None) -> tuple[ClusterConfig, ...]:
    """Return the clusters of a file; none without a file.

    Raises:
        StartError: with every fault of the file.

    """
    if file is None:
        return ()
    from doorkeeper.server.resources.catalog.errors import CatalogError  # noqa: PLC0415  see above
    from doorkeeper.sync.config import load  # noqa: PLC0415  as above

    try:
        return load(file)
    except CatalogError as error:
        raise StartError(*map(str, error.problems)) from error


def fleet_of(
    file: Path | None,
    log: StateLog,
    authorizer: GuardedAuthorizer | None,
    on_event: Callable[[ClusterEvent], None],
    now_ms: Callable[[], int],
) -> ClusterFleet | None:
    """Return the clusters of a file, not started; None without a file.

    Raises:
        StartError: with every fault of the file; or the authorizer keeps its ACLs elsewhere.

    """
    if file is None:
        return None
    # With another authorizer the state has no ACLs, and clusters would lose theirs.
    if authorizer is None or authorizer.snapshot() is None:
        raise StartError("doorkeeper.clusters.file: only ACLs of the standard authorizer are sent")
    from doorkeeper.sync.fleet import ClusterFleet  # noqa: PLC0415  see above

    return ClusterFleet(clusters_of(file), log, on_event, now_ms)


def updates_of(
    settings: Settings,
    authorizer: GuardedAuthorizer | None,
    fleet: ClusterFleet | None,
    log: StateLog,
) -> AuthorizerUpdates | None:
    """Return the changes of an authorizer, acknowledged as the settings say."""
    if fleet is None or authorizer is None or not settings.acknowledge_clusters:
        return authorizer
    from doorkeeper.sync.acknowledgement import AcknowledgedByClusters  # noqa: PLC0415  see above

    return AcknowledgedByClusters(authorizer, fleet, log)


class ClusterRecorder:
    """Records the events of clusters in the log, and in the audit log if there is one."""

    def __init__(self, logger: Logger, audit_log: AuditLog | None) -> None:
        self._logger = logger
        self._audit_log = audit_log

    def record(self, event: ClusterEvent) -> None:
        write = self._logger.warning if event.is_warning else self._logger.info
        fields = event._asdict()
        del fields["kind"]
        write(event.kind.value, **{name: value for name, value in fields.items() if value})
        if self._audit_log is not None:
            self._audit_log.record_cluster(event)
