"""How many connections there may be: in all, on a listener, from one address."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.limits import Limits
    from doorkeeper.net.options import ListenerSpec


class Admission:
    """The connections that are open, counted."""

    __slots__ = (
        "_by_host",
        "_by_listener",
        "_freed",
        "_of_listeners",
        "accepted",
        "limits",
        "overrides",
    )

    def __init__(self, limits: Limits) -> None:
        """Begin with none."""
        self.limits = limits
        self.overrides = dict(limits.connections_per_ip_overrides)
        """How many connections single addresses may have, by the text of the address."""
        self.accepted: Counter[str] = Counter()
        """How many there have been, by listener."""
        self._by_listener: Counter[str] = Counter()
        self._by_host: Counter[str] = Counter()
        self._of_listeners: Mapping[str, int] = {}
        self._freed = asyncio.Event()

    def use(
        self, limits: Limits, overrides: Mapping[str, int], of_listeners: Mapping[str, int]
    ) -> None:
        """Count by other numbers from now on; who is in stays in.

        ``overrides`` are by the text of the address, ``of_listeners`` by name.
        """
        self.limits = limits
        self.overrides = dict(overrides)
        self._of_listeners = of_listeners
        self._freed.set()

    @property
    def total(self) -> int:
        """Return how many there are."""
        return self._by_listener.total()

    def on_listener(self, name: str) -> int:
        """Return how many there are on a listener."""
        return self._by_listener[name]

    def has_room(self, spec: ListenerSpec) -> bool:
        """Say whether the listener may accept one more."""
        return self.total < self.limits.connections_max and self._by_listener[
            spec.name
        ] < self._of_listeners.get(spec.name, spec.max_connections)

    async def room(self, spec: ListenerSpec) -> None:
        """Wait until the listener may accept one more."""
        while not self.has_room(spec):
            self._freed.clear()
            await self._freed.wait()

    def most_from(self, host: str) -> int:
        """Return how many connections one address may have."""
        return self.overrides.get(host, self.limits.connections_per_ip_max)

    def enter(self, spec: ListenerSpec, host: str) -> bool:
        """Count one more, unless its address has as many as it may."""
        if self._by_host[host] >= self.most_from(host):
            if not self._by_host[host]:
                del self._by_host[host]
            return False
        self._by_host[host] += 1
        self._by_listener[spec.name] += 1
        self.accepted[spec.name] += 1
        return True

    def leave(self, spec: ListenerSpec, host: str) -> None:
        """Count one less."""
        self._by_listener[spec.name] -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        self._freed.set()
