"""The operations port of a server: what it tells, when it opens, when it closes.

It opens before Kafka's clients are let in, so that a start that takes its time is seen as one, and
closes last: while the server drains, /readyz says so.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.app.errors import StartError
from doorkeeper.app.gauges import read_authorizer, read_edge, read_node, read_store
from doorkeeper.http.checks import Readiness, Verdict
from doorkeeper.http.exposition import Exposition
from doorkeeper.http.heartbeat import Heartbeat
from doorkeeper.http.pages import Pages
from doorkeeper.http.port import HttpPort
from doorkeeper.metrics import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper.app.live_node import LiveNode
    from doorkeeper.authorizer.guard import GuardedAuthorizer
    from doorkeeper.config.http import HttpSettings
    from doorkeeper.http.checks import Check
    from doorkeeper.limits import Limits
    from doorkeeper.logger import Logger
    from doorkeeper.metrics.series import Meters
    from doorkeeper.net import Server
    from doorkeeper.state.log import StateLog


class Parts(NamedTuple):
    """What of a server is looked at. ``loaded`` and ``draining`` are asked each time."""

    edge: Server
    limits: Limits
    log: StateLog
    node: LiveNode
    authorizer: GuardedAuthorizer | None
    loaded: Callable[[], bool]
    draining: Callable[[], bool]


class Operating:
    """The port, and what it tells. For the loop's thread."""

    def __init__(
        self, settings: HttpSettings, parts: Parts, meters: Meters, logger: Logger
    ) -> None:
        """Read the files of the settings.

        Raises:
            StartError: one of them cannot be used.

        """
        try:
            self._port = HttpPort(settings, logger)
        except ValueError as error:
            raise StartError(str(error)) from None
        self._meters = meters
        self._heartbeat = Heartbeat(asyncio.get_running_loop())
        self._readiness = Readiness(checks_of(parts, settings.store_age_max_ms / 1000))
        read_edge(meters, parts.edge, parts.limits)
        read_store(meters, parts.log)
        read_node(meters, parts.node)
        if parts.authorizer is not None:
            read_authorizer(meters, parts.authorizer)
        meters.read(table.LOOP_LAG, lambda: self._heartbeat.lag_s)
        meters.read(table.READY, self._ready)

    @property
    def url(self) -> str:
        """Return where the port is; known after ``open``."""
        return self._port.url

    async def open(self) -> None:
        """Let everybody in who may ask.

        Raises:
            BindError: the address cannot be had.

        """
        await self._port.open(
            Pages(
                self._readiness, self._heartbeat, Exposition(self._meters), self._port.credentials
            )
        )

    async def close(self) -> None:
        """Close the port."""
        self._heartbeat.stop()
        await self._port.close()

    def _ready(self) -> Mapping[tuple[str, ...], float]:
        return {(name,): verdict.ok for name, verdict in self._readiness.now().items()}


def checks_of(parts: Parts, store_age_max_s: float) -> Mapping[str, Check]:
    """Return what readiness looks at."""

    def serving() -> Verdict:
        draining = parts.draining()
        return Verdict(not draining, "draining" if draining else "serving")

    def listeners() -> Verdict:
        is_open = parts.edge.is_open
        return Verdict(is_open, "open" if is_open else "not open yet")

    def acls() -> Verdict:
        if parts.authorizer is None:
            return Verdict(ok=True, detail="no authorizer")
        loaded = parts.loaded()
        return Verdict(loaded, "loaded" if loaded else "loading")

    def store() -> Verdict:
        problem = parts.log.store.unavailable
        sight = parts.log.sight()
        state = "reachable" if problem is None else f"not reachable: {problem}"
        detail = (
            f"{state}; revision {sight.revision} of {sight.head_revision}, {sight.age_s:.1f} s old"
        )
        # A shared store may come back: until what the node knows is too old, it stays ready.
        return Verdict(not parts.log.store.is_lost and sight.age_s <= store_age_max_s, detail)

    def tls() -> Verdict:
        loaded = parts.edge.are_keys_loaded
        return Verdict(loaded, "loaded" if loaded else "a listener has no certificate")

    return {"serving": serving, "listeners": listeners, "acls": acls, "store": store, "tls": tls}


def check_files(settings: HttpSettings, logger: Logger) -> list[str]:
    """Return what is wrong with the files that settings name; nothing is opened."""
    try:
        HttpPort(settings, logger)
    except ValueError as error:
        return [str(error)]
    return []
