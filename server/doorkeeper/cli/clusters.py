"""``doorkeeper clusters``: compare Kafka clusters with the ACLs of a store, and adopt them.

The desired ACLs are those of the store, read beside its server; every broker of a cluster is read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.live_changes import binding_text, unenforced
from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.plan import Plan
from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.acls.plans import numbers_of_difference
from doorkeeper.cli.addresses import AddressType
from doorkeeper.cli.inspection import Examined
from doorkeeper.cli.json_records.stores import (
    Adoption,
    Adoptions,
    ClusterDrift,
    ClusterState,
    ClusterStates,
)
from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.stores import open_history, settings_at
from doorkeeper.cli.terminal import fail, paint, printable, say, show_result
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option, with_options
from doorkeeper.cli.vocabulary.progress import progress
from doorkeeper.server.config.keys import CLUSTERS_FILE
from doorkeeper.server.state.store import StorageError
from doorkeeper.sync.config import ClusterConfig, load
from doorkeeper.sync.drift import NO_BINDINGS, NO_DRIFT, AclDrift, ignored_text
from doorkeeper.sync.following import log_refusal
from doorkeeper.sync.remote import FAILURES, Answers, RemoteCluster, common_drift

if TYPE_CHECKING:
    from doorkeeper.sync.drift import Bindings

DRIFT: Final = 3
"""The status of a cluster that does not enforce the desired ACLs."""

_LOOK_S: Final = 0.2
"""The pause between two looks of --wait."""

_STATUSES: Final = """
\b
Exit statuses: 0 all brokers enforce the ACLs of the store; 1 failed, with the reason on stderr;
2 wrong usage; 3 a cluster differs, or cannot be read; 130 ended by Ctrl-C.
"""


_SERVER: Final = AddressType(
    lambda server: server.kind is AddressKind.CONFIG,
    "expected: config:FILE, where FILE is a server.properties with doorkeeper.clusters.file",
)
clusters_options = with_options(
    click.argument("server", metavar="ADDRESS", type=_SERVER),
    named_option(
        "--cluster-name",
        "names",
        text="A cluster in the clusters file.",
        multiple=True,
        default_text="all",
    ),
)


@click.group(
    cls=Group,
    name="clusters",
    epilog=f"""{_STATUSES}
\b
Examples:
  doorkeeper clusters status config:server.properties
  doorkeeper clusters drift config:server.properties --output json
""",
)
def command() -> None:
    """Compare Kafka clusters with a Doorkeeper store."""


@command.command(
    name="status",
    epilog=f"""{_STATUSES}
\b
Examples:
  doorkeeper clusters status config:server.properties
  doorkeeper clusters status config:server.properties --wait 1042 --timeout 60
""",
)
@clusters_options
@named_option("--wait", "revision", type=click.IntRange(0))
@named_option("--timeout", "timeout_s", type=click.FloatRange(0), default=60, show_default=True)
@json_output(ClusterStates)
def show_status(
    server: Address, names: tuple[str, ...], revision: int | None, timeout_s: float, output: str
) -> None:
    """Show which brokers enforce the ACLs of the store."""
    clusters = _clusters_of(server, names)
    chosen = clusters
    if revision is not None:
        chosen = [cluster for cluster in clusters if cluster.is_enforced]
        names_ = ", ".join(printable(cluster.name) for cluster in clusters)
        Examined(
            len(chosen), f"--wait needs a cluster with mode: enforce; found only others: {names_}"
        ).fail_if_nothing()
    ends_s = time.monotonic() + timeout_s

    async def look() -> tuple[Desired, list[ClusterComparison]]:
        while True:
            compared = await _compare(server, chosen)
            now = compared[0].revision or 0
            if revision is None or time.monotonic() >= ends_s:
                return compared
            if now >= revision and all(comparison.is_in_force for comparison in compared[1]):
                return compared
            await asyncio.sleep(_LOOK_S)

    desired, comparisons = asyncio.run(look())
    records = [comparison.record(desired.revision) for comparison in comparisons]
    lines = [_status_lines(comparison, desired.revision) for comparison in comparisons]
    show_result(output, ClusterStates(clusters=records), [*chain(*lines)])
    if revision is not None and (desired.revision or 0) < revision:
        fail([f"the store is at revision {desired.revision}; expected: {revision} or later"])
    _end(comparisons)


@command.command(
    name="drift",
    epilog=f"""{_STATUSES}
\b
Examples:
  doorkeeper clusters drift config:server.properties
  doorkeeper clusters drift config:server.properties --cluster-name production --output json
""",
)
@clusters_options
@json_output(ClusterDrift)
def show_drift(server: Address, names: tuple[str, ...], output: str) -> None:
    """List the ACLs that are missing (+) or extra (-) on clusters, within the scope of Doorkeeper.

    As in acls plan, + is what enforcing the store would add, and - what it would remove.
    """
    desired, comparisons = asyncio.run(_compare(server, _clusters_of(server, names)))
    numbers = [_numbers(comparison, desired) for comparison in comparisons]
    examined = Examined(
        sum(len(number.added) + len(number.removed) + number.unchanged for number in numbers),
        "nothing was compared: neither the store nor the clusters have ACLs in the scope",
    )
    records = [comparison.record(desired.revision) for comparison in comparisons]
    lines = [
        _drift_lines(comparison, drift, desired.revision)
        for comparison, drift in zip(comparisons, numbers, strict=True)
    ]
    record = ClusterDrift(clusters=records, examined=examined.number)
    show_result(output, record, [*chain(*lines)])
    _end(comparisons)
    examined.fail_if_nothing()


def _drift_lines(comparison: ClusterComparison, drift: Plan, revision: int | None) -> Iterator[str]:
    """Yield why brokers cannot be compared or differ from each other, then the common drift."""
    name = printable(comparison.config.name)
    reasons = _failures(comparison, with_common_drift=False)
    for reason in reasons:
        yield f"{name}: {paint(printable(reason), 'red')}"
    yield from _change_lines(comparison)
    # "No difference" is said only of a cluster that is in force on all brokers.
    if drift or not reasons:
        store = f"revision {revision} of the store"
        yield f"{name}: {numbers_of_difference(drift, name, store)}"


def _numbers(comparison: ClusterComparison, desired: Desired) -> Plan:
    """Return what would make a cluster equal to the store; of a cluster that fails, nothing."""
    drift = comparison.drift
    missing, extra = tuple(drift.missing), tuple(drift.extra)
    goal = desired.of(comparison.config) if comparison.drifts else ()
    return Plan(missing, extra, len(goal) - len(missing), len(drift.outside))


@command.command(
    name="adopt",
    epilog="""
This command changes nothing: copy the printed lines into the clusters file. A store that was
restored, copied or recreated has a new id; it changes a cluster only when the cluster's entry in
that file names the id.

\b
Exit statuses: 0 done; 1 failed, with the reason on stderr; 2 wrong usage; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper clusters adopt config:server.properties
  doorkeeper clusters adopt config:server.properties --cluster-name production --output json
""",
)
@clusters_options
@json_output(Adoptions)
def adopt(server: Address, names: tuple[str, ...], output: str) -> None:
    """Print the lines for the clusters file that assign clusters to a store, and its changes."""
    chosen = _clusters_of(server, names)
    # Read whichever cluster answers: its id is what is asked for.
    anyone = [replace(cluster, cluster="") for cluster in chosen]
    desired, comparisons = asyncio.run(_compare(server, anyone))
    for comparison in comparisons:
        if comparison.failure or not comparison.drifts:
            fail(f"{comparison.config.name}: {text}" for text in _failures(comparison))
        for text in _failures(comparison, with_common_drift=False):
            say(f"{comparison.config.name}: {text}")
    clusters: list[Adoption] = [
        {
            "name": comparison.config.name,
            "store": comparison.config.store or None,
            "cluster": comparison.cluster_id,
            "add": [binding_text(one) for one in sorted(comparison.drift.missing)],
            "remove": [binding_text(one) for one in sorted(comparison.drift.extra)],
            "outside": len(comparison.drift.outside),
        }
        for comparison in comparisons
    ]
    record = Adoptions(store=desired.store_id, clusters=clusters)
    lines = [
        _adoption_lines(comparison, desired.store_id, cluster.cluster)
        for comparison, cluster in zip(comparisons, chosen, strict=True)
    ]
    show_result(output, record, [*chain(*lines)])


class ClusterComparison(Struct, frozen=True):
    """The drift of each broker of a cluster, or why one cannot be read; or why none can."""

    config: ClusterConfig
    brokers: Answers
    failure: str = ""
    polled_because: str = ""
    """Why the metadata log cannot be followed; empty if it can."""
    refusal: str = ""
    """Why the store may not change an enforced cluster; empty if it may."""
    ignored: Bindings = NO_BINDINGS
    """The desired ACLs that the release of the cluster does not honour."""
    cluster_id: str = ""

    @property
    def drifts(self) -> list[AclDrift]:
        return [drift for drift in self.brokers.values() if isinstance(drift, AclDrift)]

    @property
    def drift(self) -> AclDrift:
        """Return the drift that all brokers show."""
        return common_drift(self.brokers) if self.drifts else NO_DRIFT

    @property
    def is_in_force(self) -> bool:
        """Return whether every broker enforces the desired ACLs."""
        all_read = len(self.drifts) == len(self.brokers) > 0
        return not self.failure and all_read and not any(self.drifts) and not self.ignored

    def record(self, revision: int | None) -> ClusterState:
        """Return the comparison for JSON; ``revision`` is that of the desired ACLs."""
        drift = self.drift
        return {
            "name": self.config.name,
            "mode": self.config.mode,
            "revision": revision,
            "inForce": self.is_in_force,
            "failure": self.failure or None,
            "pollsBecause": self.polled_because or None,
            "held": self.refusal or None,
            "notHonoured": [binding_text(binding) for binding in sorted(self.ignored)],
            "brokers": {str(broker): _broker_text(state) for broker, state in self.brokers.items()},
            "outside": len(drift.outside),
            "missing": [binding_text(binding) for binding in sorted(drift.missing)],
            "extra": [binding_text(binding) for binding in sorted(drift.extra)],
        }


async def compare_cluster(
    config: ClusterConfig, desired: Bindings, store_id: str
) -> ClusterComparison:
    """Read every broker of a cluster; errors are in the result."""
    remote = RemoteCluster(config, desired)
    refusal = config.refusal_of(store_id)
    networks = frozenset(binding for binding in desired if "/" in binding.entry.host)
    try:
        brokers = await remote.compare(await remote.brokers())
        reason = await log_refusal(config)
        ignored = unenforced(networks, await remote.facts(0)) if networks else NO_BINDINGS
        cluster_id = remote.cluster_id
        return ClusterComparison(config, brokers, "", reason, refusal, ignored, cluster_id)
    except FAILURES as error:
        return ClusterComparison(config, {}, str(error), refusal=refusal)
    finally:
        await remote.close()


def _broker_text(state: AclDrift | BaseException) -> str:
    if not isinstance(state, AclDrift):
        return str(state)
    return f"{len(state.missing)} missing, {len(state.extra)} extra" if state else "in force"


class Desired(Struct, frozen=True):
    """The ACLs of the store, its revision, and its id."""

    bindings: tuple[AclBinding, ...]
    revision: int | None
    store_id: str

    def of(self, config: ClusterConfig) -> frozenset[AclBinding]:
        return frozenset(filter(config.scope.selects, self.bindings))


async def _compare(
    server: Address, clusters: Sequence[ClusterConfig]
) -> tuple[Desired, list[ClusterComparison]]:
    with progress(f"reading {server}") as shown:
        desired = await _read_store(server)
        shown.tell("reading the clusters")
        comparisons = await asyncio.gather(
            *(
                compare_cluster(cluster, desired.of(cluster), desired.store_id)
                for cluster in clusters
            )
        )
    return desired, list(comparisons)


async def _read_store(server: Address) -> Desired:
    contents = await Location(server).repository().read()
    if contents.authorizer is not None:
        raise RepositoryError(
            f"authorizer.class.name: found {contents.authorizer}; expected: StandardAuthorizer,"
            " because only its ACLs are sent to clusters"
        )
    try:
        async with open_history(server) as store:
            store_id = (await store.header()).store_id
    except StorageError as error:
        raise RepositoryError(str(error)) from error
    return Desired(tuple(contents.bindings), contents.revision, store_id)


def _clusters_of(server: Address, names: Sequence[str]) -> list[ClusterConfig]:
    """Return the clusters of these names, or all."""
    clusters_file = settings_at(server)[CLUSTERS_FILE]
    if clusters_file is None:
        text = "doorkeeper.clusters.file is not set; expected: the path of the clusters file"
        fail([f"{server.target}: {text}"])
    clusters = load(clusters_file)
    known = {cluster.name: cluster for cluster in clusters}
    for name in names:
        if name not in known:
            raise click.BadParameter(
                f"found {name!r}; allowed: {', '.join(known)}", param_hint="--cluster-name"
            )
    nothing = f"{clusters_file}: there is nothing to examine: clusters: is empty"
    Examined(len(clusters), nothing).fail_if_nothing()
    return [known[name] for name in names] or list(clusters)


def _end(comparisons: Sequence[ClusterComparison]) -> None:
    if not all(comparison.is_in_force for comparison in comparisons):
        raise SystemExit(DRIFT)


def _status_lines(comparison: ClusterComparison, revision: int | None) -> list[str]:
    name = f"{comparison.config.name} ({comparison.config.mode})"
    if comparison.is_in_force:
        brokers = ", ".join(map(str, comparison.brokers))
        lines = [paint(f"{name}: revision {revision} is in force on brokers {brokers}", "green")]
    else:
        lines = [f"{name}: {paint(printable(text), 'red')}" for text in _failures(comparison)]
    if comparison.refusal:
        lines.append(f"{name}: {paint(printable(comparison.refusal), 'yellow')}")
    if comparison.config.controllers and comparison.polled_because:
        reason = printable(comparison.polled_because)
        lines.append(f"{name}: polled, because its metadata log cannot be followed: {reason}")
    return lines


def _failures(comparison: ClusterComparison, *, with_common_drift: bool = True) -> list[str]:
    """Return why a cluster does not enforce the desired ACLs.

    Without the common drift, brokers that show it and no other are left out.
    """
    if comparison.failure:
        return [comparison.failure]
    if not comparison.brokers:
        return ["the cluster has no brokers at the moment"]
    common = NO_DRIFT if with_common_drift else comparison.drift
    texts = [
        f"broker {broker}: {_broker_text(state)}"
        for broker, state in comparison.brokers.items()
        if not isinstance(state, AclDrift)
        or (state.missing, state.extra) != (common.missing, common.extra)
    ]
    return [*texts, ignored_text(comparison.ignored)] if comparison.ignored else texts


def _adoption_lines(comparison: ClusterComparison, store_id: str, named: str) -> list[str]:
    """Return what a store would change on a cluster, and the lines that let it.

    ``named`` is the id of the cluster in its entry, or empty.
    """
    config, drift = comparison.config, comparison.drift
    name, actual = config.name, comparison.cluster_id
    pinned = [] if named == actual else [f"    cluster: {actual}"]
    is_other = bool(named) and named != actual
    if config.store == store_id and not is_other:
        text = f"{name}: belongs to this store, {store_id}"
        if pinned:
            text += f". So that no other cluster at its address gets its ACLs, add to {name}:"
        return [text, *pinned]
    owner = f"belongs to store {config.store}" if config.store else "belongs to no store"
    if is_other:
        owner = f"another cluster answers than its entry names: found {actual}; expected: {named}"
    return [
        *_change_lines(comparison),
        (
            f"{name}: {owner}; this store would add {len(drift.missing)} ACLs, remove"
            f" {len(drift.extra)}, and keep {len(drift.outside)} outside the scope. To allow"
            f" this, add to the entry of {name}:"
        ),
        f"    store: {store_id}",
        *pinned,
    ]


def _change_lines(comparison: ClusterComparison) -> Iterator[str]:
    """Yield the ACLs that enforcing the store would add to a cluster, and remove from it."""
    drift, name = comparison.drift, comparison.config.name
    for sign, bindings, colour in (("+", drift.missing, "green"), ("-", drift.extra, "red")):
        for binding in sorted(bindings):
            yield paint(printable(f"{name}: {sign} {binding_text(binding)}"), colour)
