"""The stream without a JVM: look, read new files, wait. The batches record the read files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.streaming.batches import Batches, FileResult, finished_files, name_of
from doorkeeper_pipeline.streaming.views import refresh
from doorkeeper_pipeline.tables.locking import lock

FILES_MAX = 1000
"""Files of one batch: after a long pause the first answers come before all is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRequest:
    """The options of a stream.

    Attributes:
        trail: The folder of the audit log.
        out: The output folder.
        interval_s: Seconds from one look at the folder to the next.
        once: Whether to end when all files that are there have been read.
        policy: Super users, and the default without ACLs.
        networks: Whether hosts of ACLs may be networks, as in Kafka 4.4.

    """

    trail: Path
    out: Path
    policy: Policy
    interval_s: float = 10.0
    once: bool = False
    networks: bool = True


def follow(
    request: StreamRequest,
    engine: Engine,
    tell: Callable[[str], None],
    wait: Callable[[float], bool],
    checkpoint: Callable[[str], None] = lambda _: None,
) -> None:
    """Read finished files as they come. ``wait`` sleeps, and says whether to go on.

    Raises:
        Busy: another process streams into the folder.
        Unreadable: the folder of the trail is not there.

    """
    batches = Batches(request.out)
    with lock(batches.root):
        if batches.numbers():
            # What a killed stream had read and did not show any more; and the ACLs may be others.
            refresh(request.out, batches, request.policy, networks=request.networks)
        elif not finished_files(request.trail):
            tell(f"{request.trail}: no finished file of Doorkeeper's audit log is here yet")
        while True:
            seen = batches.file_names()
            new = [path for path in finished_files(request.trail) if name_of(path.name) not in seen]
            for start in range(0, len(new), FILES_MAX):
                paths = [str(path) for path in new[start : start + FILES_MAX]]
                added = batches.add(paths, engine, checkpoint)
                rows = refresh(request.out, batches, request.policy, networks=request.networks)
                tell(batch_line(*added, rows))
            if request.once or not wait(request.interval_s):
                return


def batch_line(
    number: int, results: Sequence[FileResult], rows: dict[str, int], unit: str = "files"
) -> str:
    """Return a line about a batch, whose results are those of units."""
    sums = {
        name: sum(getattr(result, name) for result in results)
        for name in ("decisions", "quarantined", "missing")
    }
    parts = [
        f"batch {number}: {len(results)} {unit}, {sums['decisions']:,} decisions",
        f"{sums['quarantined']:,} pieces in quarantine" if sums["quarantined"] else "",
        f"{sums['missing']:,} missing by the trail's own word" if sums["missing"] else "",
        ", ".join(f"{table} {count:,}" for table, count in rows.items()),
    ]
    return "; ".join(part for part in parts if part)
