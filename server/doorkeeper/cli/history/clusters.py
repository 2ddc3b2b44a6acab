"""Receipts and drift of Kafka clusters, beside the changes of ``history`` and ``watch``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from doorkeeper.cli.completion import files
from doorkeeper.cli.repositories.addresses import AddressKind
from doorkeeper.cli.stores import settings_at
from doorkeeper.cli.terminal import fail, paint, printable
from doorkeeper.server.config.audit_keys import AUDIT_DIR
from doorkeeper.server.config.keys import CLUSTERS_FILE
from doorkeeper.server.operations.audit.cluster_events import (
    KIND,
    brokers_text,
    cluster_events,
    event_text,
    receipts_of,
    time_ms_of,
)
from doorkeeper.server.operations.audit.reading import UnreadableFile
from doorkeeper.server.operations.audit.tailing import Tail
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.history.moments import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from doorkeeper.cli.repositories.addresses import Address
    from doorkeeper.server.state.history.revisions import Revision


def audit_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that names the audit logs with the events of clusters."""
    option = click.option(
        "--audit-log",
        "audit_logs",
        metavar="FOLDER",
        multiple=True,
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        shell_complete=files,
        help="Also print the receipts and the drift of Kafka clusters of this audit log; may be"
        " repeated, for several nodes.  [default: that of --config, if it has clusters]",
    )
    return option(command)


def audit_folders(store: Address, folders: Sequence[Path]) -> Sequence[Path]:
    """Return the folders of audit logs: those given, or that of a configuration with clusters.

    Raises:
        ConfigError: the configuration cannot be read.
    """
    if folders or store.kind is not AddressKind.CONFIG:
        return folders
    settings = settings_at(store)
    folder = settings[AUDIT_DIR]
    if settings[CLUSTERS_FILE] is None or folder is None or not folder.is_dir():
        return ()
    return (folder,)


def read_events(
    folders: Sequence[Path], since_ms: int, until_ms: int | None
) -> list[Mapping[str, Any]]:
    """Return the events of clusters in a time; an error ends the process."""
    try:
        return cluster_events(folders, since_ms, until_ms)
    except (OSError, UnreadableFile) as error:
        fail([f"the audit log: {error}"])


def receipts(folders: Sequence[Path], revision: Revision) -> dict[str, Mapping[str, Any]]:
    """Return by cluster since when a revision is in force; of one without ACLs, nothing."""
    if not folders or all(row.kind != ACL.name for row in revision.rows):
        return {}
    return receipts_of(read_events(folders, revision.time_ms, None), revision.revision)


def receipt_lines(receipts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        f"in force: cluster {printable(name)}, {brokers_text(event)},"
        f" since {time_text(time_ms_of(event))}"
        for name, event in sorted(receipts.items())
    ]


def event_line(event: Mapping[str, Any]) -> str:
    """Return an event as a line."""
    return f"{paint(time_text(time_ms_of(event)), 'cyan')}  {printable(event_text(event))}"


class ClusterTail:
    """The events of clusters from now on."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._tails = [Tail(folder) for folder in folders]
        for tail in self._tails:
            tail.last_lines(0)

    def new(self) -> Iterator[Mapping[str, Any]]:
        """Yield the new events, those of each node in order.

        Raises:
            OSError: a folder cannot be read.
        """
        for tail in self._tails:
            yield from (event for event in tail.new() if event["kind"] == KIND)
