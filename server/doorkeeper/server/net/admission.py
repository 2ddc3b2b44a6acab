"""Connection limits: in total, per listener and per address."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.options import ListenerSpec


class Admission:
    """Counts open connections and enforces the limits on them."""

    __slots__ = (
        "_by_host",
        "_by_listener",
        "_freed",
        "_listener_maximums",
        "accepted",
        "limits",
        "overrides",
    )

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.overrides = dict(limits.connections_per_ip_overrides)
        """Limits of single addresses, by the text of the address."""
        self.accepted: Counter[str] = Counter()
        """Connections accepted since the start, by listener."""
        self._by_listener: Counter[str] = Counter()
        self._by_host: Counter[str] = Counter()
        self._listener_maximums: Mapping[str, int] = {}
        self._freed = asyncio.Event()

    def use(
        self, limits: Limits, overrides: Mapping[str, int], listener_maximums: Mapping[str, int]
    ) -> None:
        """Replace the limits; connections that are open stay open.

        ``overrides`` are the limits' own as ``resolved_overrides`` gives them, by the text of the
        address; ``listener_maximums`` are by name.
        """
        self.limits = limits
        self.overrides = dict(overrides)
        self._listener_maximums = listener_maximums
        self._freed.set()

    @property
    def total(self) -> int:
        return self._by_listener.total()

    def on_listener(self, name: str) -> int:
        """Return the number of open connections of a listener."""
        return self._by_listener[name]

    def has_room(self, spec: ListenerSpec) -> bool:
        """Return whether the listener may accept another connection."""
        return self.total < self.limits.connections_max and self._by_listener[
            spec.name
        ] < self._listener_maximums.get(spec.name, spec.max_connections)

    async def wait_for_room(self, spec: ListenerSpec) -> None:
        """Wait until the listener may accept another connection."""
        while not self.has_room(spec):
            self._freed.clear()
            await self._freed.wait()

    def maximum_of(self, host: str) -> int:
        """Return the limit of one address."""
        return self.overrides.get(host, self.limits.connections_per_ip_max)

    def enter(self, spec: ListenerSpec, host: str) -> bool:
        """Count a connection; return False where its address has reached its limit."""
        if self._by_host[host] >= self.maximum_of(host):
            return False
        self._by_host[host] += 1
        self._by_listener[spec.name] += 1
        self.accepted[spec.name] += 1
        return True

    def leave(self, spec: ListenerSpec, host: str) -> None:
        self._by_listener[spec.name] -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        self._freed.set()
