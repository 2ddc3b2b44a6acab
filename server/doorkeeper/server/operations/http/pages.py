"""The pages of the operations port: values in, values out.

    /          an index
    /livez     200 while the event loop runs in time, else 503; for supervisors
    /readyz    200 if every check holds, else 503; for load balancers
    /metrics   the metrics
    /history   the changes of the store, and /history/watch, a stream of them
    /clusters  the Kafka clusters that get the ACLs, where there are some

If a login is configured, clients without one get the status and one word of /livez and /readyz,
which is enough for the probes of container platforms, which cannot log in. Every other path is 401
to them.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from doorkeeper.server.operations.http.answers import JSON, TEXT, Page

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from doorkeeper.server.operations.http.answers import PageRequest
    from doorkeeper.server.operations.http.checks import Readiness
    from doorkeeper.server.operations.http.credentials import Credentials
    from doorkeeper.server.operations.http.exposition import Exposition
    from doorkeeper.server.operations.http.heartbeat import Heartbeat
    from doorkeeper.server.operations.http.history_pages import HistoryPages

LAG_MAX_S: Final = 5.0
"""With more lag the loop serves no client in time; half the usual time-out of probes."""

INDEX: Final = """\
Doorkeeper's operations port

/livez    is the process alive
/readyz   should clients be sent here; what each check says
/metrics  numbers for Prometheus
/history  the changes of the store; /history/watch is a stream of them
/clusters the Kafka clusters that get the ACLs, where there are some
"""

METHODS: Final = ("GET", "HEAD")


class Pages:
    """All pages. ``credentials`` returns the current ones; None admits every client."""

    def __init__(
        self,
        readiness: Readiness,
        heartbeat: Heartbeat,
        exposition: Exposition,
        credentials: Callable[[], Credentials] | None,
        history: HistoryPages | None = None,
        clusters: Callable[[], Sequence[Mapping[str, object]]] | None = None,
    ) -> None:
        """Without ``history`` the store has none, as one in memory; ``clusters`` as configured."""
        self._readiness = readiness
        self._heartbeat = heartbeat
        self._exposition = exposition
        self._credentials = credentials
        self._pages: dict[str, Callable[[PageRequest, bool], Awaitable[Page]]] = {
            "/": self._index,
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
        }
        self._clusters = clusters
        if clusters is not None:
            self._pages["/clusters"] = self._clusters_page
        if history is not None:
            self._pages["/history"] = lambda request, _: history.revisions(request)
            self._pages["/history/watch"] = lambda request, _: history.watch(request)

    async def answer(self, request: PageRequest) -> Page:
        """Return the page, or an error page."""
        authenticated = self._credentials is None or self._credentials().admit(
            request.authorization
        )
        # No credentials at all is no guess: probes must not be delayed.
        guessed = not authenticated and request.authorization != ""
        return (await self._page(request, authenticated))._replace(guessed=guessed)

    async def _page(self, request: PageRequest, authenticated: bool) -> Page:
        page = self._pages.get(request.path)
        if not authenticated and request.path not in ("/livez", "/readyz"):
            # Also for unknown paths, so that they do not show which pages exist.
            return _failure(
                HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": 'Basic realm="doorkeeper", Bearer'}
            )
        if page is None:
            return _failure(HTTPStatus.NOT_FOUND)
        if request.method not in METHODS:
            return _failure(HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": ", ".join(METHODS)})
        return await page(request, authenticated)

    async def _index(self, _request: PageRequest, _authenticated: bool) -> Page:
        return Page(HTTPStatus.OK, INDEX.encode())

    async def _livez(self, _request: PageRequest, authenticated: bool) -> Page:
        lag_s = self._heartbeat.lag_s
        body: dict[str, object] = {"alive": lag_s <= LAG_MAX_S}
        if authenticated:
            body["loop_lag_seconds"] = round(lag_s, 6)
        return _json_page(body, ok=lag_s <= LAG_MAX_S)

    async def _readyz(self, _request: PageRequest, authenticated: bool) -> Page:
        verdicts = self._readiness.now()
        ready = all(verdict.ok for verdict in verdicts.values())
        body: dict[str, object] = {"ready": ready}
        if authenticated:
            body["checks"] = {name: verdict._asdict() for name, verdict in verdicts.items()}
        return _json_page(body, ok=ready)

    async def _clusters_page(self, _request: PageRequest, _authenticated: bool) -> Page:
        assert self._clusters is not None, "else there is no such page"
        return _json_page({"clusters": list(self._clusters())}, ok=True)

    async def _metrics(self, request: PageRequest, _authenticated: bool) -> Page:
        text, content_type = await self._exposition.text(request.accept)
        return Page(HTTPStatus.OK, text, content_type)


def _json_page(content: Mapping[str, object], *, ok: bool) -> Page:
    status = HTTPStatus.OK if ok else HTTPStatus.SERVICE_UNAVAILABLE
    return Page(status, json.dumps(content).encode() + b"\n", JSON)


def _failure(status: HTTPStatus, headers: Mapping[str, str] | None = None) -> Page:
    return Page(status, f"{status.value} {status.phrase}\n".encode(), TEXT, headers or {})
