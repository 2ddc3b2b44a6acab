"""Encoded responses, cached for as long as the state they were built from is served.

A repeated request is answered without decoding, deciding or encoding. The key of an entry:

    CacheKey     the client: listener, protocol, address, principal, kind of login, software
    request      the frame without its correlation id, behind its size
    version      the state that the response was built from; older entries are dropped

A hit replays the side effects of the request: it is counted, with its error and its decisions, and
these are recorded in the audit log. A request that wrote a line of the authorizer's log is not
cached, because the line would have to be written again.

Only APIs whose response depends on nothing but the state are cached. Why it is worth it:
``docs/decisions/response-cache.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol
from weakref import WeakValueDictionary

from doorkeeper.acls.model import Principal
from doorkeeper.server.authorizer.guard import RecordedDecision
from doorkeeper.server.config.client_rules import ClientSoftware
from doorkeeper.server.net.protocol.client_limits import ClientLimits
from doorkeeper.server.net.protocol.exchange import Peer, SideEffects, Version
from doorkeeper.server.net.protocol.session import Session, SessionAction
from doorkeeper.server.runtime.limits import Limits
from doorkeeper_wire.api_keys import ApiKey

CACHED_APIS: Final = frozenset(
    map(int, (ApiKey.METADATA, ApiKey.DESCRIBE_GROUPS, ApiKey.API_VERSIONS, ApiKey.DESCRIBE_ACLS))
)
"""APIs whose responses depend only on the client, the request and the state."""

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_SERVE: Final = SessionAction.SERVE
_API_VERSIONS: Final = int(ApiKey.API_VERSIONS)

_BEFORE_BODY_BYTES: Final = 8
"""API, version and correlation id."""


class CacheKey(NamedTuple):
    """The properties of a connection that a response may depend on."""

    listener_name: str
    security_protocol: str
    host: str
    controller: bool
    principal: Principal
    token_authenticated: bool
    software: ClientSoftware


class CacheEntry(NamedTuple):
    """A response without its correlation id.

    ``answered`` is its API key and error code, as requests are counted.
    """

    size: bytes
    body: bytes
    answered: tuple[int, int]
    effects: SideEffects


class Recording(NamedTuple):
    """The version and the counters before a request is handled."""

    version: Version
    allowed: int
    denied: int
    lines: int


class Decisions(Protocol):
    """The counters and recorded decisions of the guarded authorizer."""

    allowed: int
    denied: int
    on_decision: Callable[..., RecordedDecision | None] | None
    on_repeat: Callable[[RecordedDecision, bytes], None] | None
    recorded: list[RecordedDecision] | None

    @property
    def traces(self) -> int:
        """Return the number of log lines about decisions."""
        ...


class ClientEntries:
    """The entries of one client, all of one version; its connections share them."""

    __slots__ = ("__weakref__", "entries", "size", "version")

    def __init__(self) -> None:
        self.entries: dict[bytes, CacheEntry] = {}
        self.size = 0
        self.version: Version | None = None

    def clear(self) -> None:
        self.entries.clear()
        self.size = 0


class ResponseCache:
    """The cache of one server. The entries of a client live as long as its connections."""

    def __init__(
        self,
        version: Callable[[], Version | None],
        decisions: Decisions | None,
        limits: Limits,
    ) -> None:
        """``version`` returns the version that is served; None turns the cache off."""
        self.version = version
        self.decisions = decisions
        self.limits = limits
        self.hits = 0
        """Requests answered from the cache."""
        self._size = 0
        # Weak: connections hold the entries of their client, so that they leave with the last one.
        self._clients: WeakValueDictionary[CacheKey, ClientEntries] = WeakValueDictionary()

    @property
    def size(self) -> int:
        """Return the bytes cached. O(n) in the number of clients."""
        return sum(client.size for client in self._clients.values())

    def entries_of(self, key: CacheKey) -> ClientEntries:
        """Return the entries of a client, empty for a new one."""
        found = self._clients.get(key)
        if found is None:
            found = self._clients[key] = ClientEntries()
        return found

    def put(self, client: ClientEntries, request: bytes, entry: CacheEntry) -> None:
        """Add an entry; beyond the limit, drop all others first."""
        size = len(request) + len(entry.body)
        # ``_size`` still counts entries of clients that have left: recount before dropping.
        self._size += size
        if self._size > self.limits.response_cache_bytes_max:
            self._size = self.size + size
        if self._size > self.limits.response_cache_bytes_max:
            # All at once: an order of use would have to be kept for each hit.
            for each in self._clients.values():
                each.clear()
            self._size = size
        client.entries[request] = entry
        client.size += size


class ConnectionCache:
    """The cache as one connection uses it: ``get``, ``begin`` and ``end``, ``put``."""

    __slots__ = (
        "_answered",
        "_cache",
        "_client",
        "_entries",
        "_peer",
        "_session",
    )

    def __init__(
        self,
        cache: ResponseCache,
        peer: Peer,
        session: Session,
        client: ClientLimits,
        answered: list[tuple[int, int]] | None,
    ) -> None:
        """Each hit is appended to ``answered`` unless it is None."""
        self._cache = cache
        self._peer = peer
        self._session = session
        self._client = client
        self._answered = answered
        self._entries: ClientEntries | None = None

    def client_changed(self) -> None:
        """Look the entries up again: the principal or the software may have changed."""
        self._entries = None

    def get(self, request: bytes, correlation_id: bytes, now_s: float) -> bytes | None:
        """Return the response to a request, in the form of ``request_of``; None without one."""
        client = self._entries or self._take_entries()
        entry = client.entries.get(request)
        if entry is None or not self._is_valid(client) or not self._admits(entry, now_s):
            return None
        return self._replay(entry, correlation_id, now_s)

    def get_all(self, frames: Iterable[bytes], now_s: float, bytes_max: int) -> list[bytes]:
        """Return the responses to these frames, up to the first that is not cached.

        Stop at ``bytes_max`` bytes.
        """
        responses: list[bytes] = []
        client = self._entries or self._take_entries()
        if not client.entries or not self._is_valid(client):
            return responses
        request_bytes_max = self._cache.limits.cached_request_bytes_max
        for frame in frames:
            if len(frame) > request_bytes_max or bytes_max <= 0:
                break
            entry = client.entries.get(request_of(frame))
            if entry is None or not self._admits(entry, now_s):
                break
            response = self._replay(entry, frame[4:8], now_s)
            responses.append(response)
            bytes_max -= len(response)
        return responses

    def version(self) -> Version | None:
        """Return the version that responses depend on; None if they are not cached."""
        return self._cache.version() if self._session.is_open else None

    def begin(self, api_key: int) -> Recording | None:
        """Record the side effects of a request; None if its response is not cached."""
        if api_key == _API_VERSIONS:
            # The request names the client's software.
            self._entries = None
        version = self.version()
        if version is None:
            return None
        decisions = self._cache.decisions
        if decisions is None:
            return Recording(version, 0, 0, 0)
        if decisions.on_decision is not None:
            # Only with an audit log, and only while the handler runs.
            decisions.recorded = []
        return Recording(version, decisions.allowed, decisions.denied, decisions.traces)

    def end(self, recording: Recording) -> SideEffects | None:
        """Return the side effects since ``begin``; None where they cannot be replayed."""
        version, allowed, denied, lines = recording
        decisions = self._cache.decisions
        if decisions is None:
            return SideEffects(version, 0, 0, ())
        recorded, decisions.recorded = decisions.recorded, None
        if decisions.traces != lines:
            return None
        allowed, denied = decisions.allowed - allowed, decisions.denied - denied
        return SideEffects(version, allowed, denied, tuple(recorded or ()))

    def put(
        self,
        frame: bytes,
        response: bytes | bytearray,
        answered: tuple[int, int],
        effects: SideEffects,
    ) -> None:
        """Cache a response, unless it is too large or the version has changed."""
        limits = self._cache.limits
        if len(response) > limits.cached_response_bytes_max:
            return
        if not _BEFORE_BODY_BYTES < len(frame) <= limits.cached_request_bytes_max:
            return
        version = self._cache.version()
        if not _is_same(version, effects.version):
            return
        # After ApiVersions the software may be another one: its response is found only by
        # connections that have named the same software before.
        client = self._take_entries()
        if not _is_same(version, client.version):
            client.clear()
            client.version = version
        entry = CacheEntry(bytes(response[:4]), bytes(response[8:]), answered, effects)
        self._cache.put(client, request_of(frame), entry)

    def _take_entries(self) -> ClientEntries:
        peer, session = self._peer, self._session
        key = CacheKey(
            peer.listener_name,
            peer.security_protocol,
            peer.host,
            peer.controller,
            session.principal,
            session.token_authenticated,
            self._client.client,
        )
        self._entries = entries = self._cache.entries_of(key)
        return entries

    def _is_valid(self, client: ClientEntries) -> bool:
        """Return whether the entries are of the version that is served; else drop them."""
        if _is_same(self._cache.version(), client.version):
            return True
        client.clear()
        return False

    def _admits(self, entry: CacheEntry, now_s: float) -> bool:
        """Return whether the session serves the request, as it would without the cache."""
        session = self._session
        if session.expires_s is None:
            return session.is_open
        return session.admit(entry.answered[0], now_s) is _SERVE

    def _replay(self, entry: CacheEntry, correlation_id: bytes, now_s: float) -> bytes:
        """Return the frame of a response, and repeat the side effects of its request."""
        cache, effects = self._cache, entry.effects
        cache.hits += 1
        decisions = cache.decisions
        if decisions is not None:
            decisions.allowed += effects.allowed
            decisions.denied += effects.denied
            for each in effects.decisions:
                if each.count:
                    each.count += 1
                    each.last_s = now_s
                    each.last_correlation_id = correlation_id
                elif decisions.on_repeat is not None:
                    decisions.on_repeat(each, correlation_id)
        if self._answered is not None:
            self._answered.append(entry.answered)
        return entry.size + correlation_id + entry.body


def _is_same(version: Version | None, other: Version | None) -> bool:
    """Compare versions: states by identity, since comparing their values takes long."""
    if version is None or other is None:
        return False
    return version[0] is other[0] and version == other


def request_of(frame: bytes) -> bytes:
    """Return the identity of a request: the size of its frame, then all but the correlation id.

    Data of the socket without its bytes 8 to 12 equals it where it is exactly one such frame.
    """
    return len(frame).to_bytes(4) + frame[:4] + frame[8:]
