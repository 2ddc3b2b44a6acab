"""What the operations port answers: values in, values out.

    /          what there is
    /livez     200 while the loop turns in time, else 503; for who restarts processes
    /readyz    200 where every check holds, else 503; for who sends clients here
    /metrics   the numbers

Where there is a login, strangers learn of /livez and /readyz the status and one word; that is what
probes of container platforms can use, which have no login. Everything else is 401 to them.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from doorkeeper.http.checks import Readiness
    from doorkeeper.http.exposition import Exposition
    from doorkeeper.http.heartbeat import Heartbeat
    from doorkeeper.http.login import Credentials

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"

LAG_MAX_S: Final = 5.0
"""A loop that is later than this serves nobody: half of what probes usually wait."""

INDEX: Final = """\
Doorkeeper's operations port

/livez    is the process alive
/readyz   should clients be sent here; what each check says
/metrics  numbers for Prometheus
"""

METHODS: Final = ("GET", "HEAD")


class Page(NamedTuple):
    """An answer."""

    status: int
    body: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = {}
    guessed: bool = False
    """Whether who asked gave a login that nobody has: such an answer takes its time."""


class Asked(NamedTuple):
    """A request, as far as anybody here cares."""

    method: str
    path: str
    authorization: str
    accept: str


class Pages:
    """All of them. ``credentials`` gives who may ask by now; None where everybody may."""

    def __init__(
        self,
        readiness: Readiness,
        heartbeat: Heartbeat,
        exposition: Exposition,
        credentials: Callable[[], Credentials] | None,
    ) -> None:
        """Take what they tell of."""
        self._readiness = readiness
        self._heartbeat = heartbeat
        self._exposition = exposition
        self._credentials = credentials
        self._pages: Mapping[str, Callable[[Asked, bool], Awaitable[Page]]] = {
            "/": self._index,
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
        }

    async def answer(self, asked: Asked) -> Page:
        """Return the page that was asked for, or the reason why not."""
        known = self._credentials is None or self._credentials().admit(asked.authorization)
        guessed = not known and asked.authorization != ""
        return (await self._page(asked, known))._replace(guessed=guessed)

    async def _page(self, asked: Asked, known: bool) -> Page:  # noqa: FBT001  as all pages
        page = self._pages.get(asked.path)
        if not known and asked.path not in ("/livez", "/readyz"):
            # Also where there is no such page: strangers learn nothing of what there is.
            return _failure(
                HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": 'Basic realm="doorkeeper", Bearer'}
            )
        if page is None:
            return _failure(HTTPStatus.NOT_FOUND)
        if asked.method not in METHODS:
            return _failure(HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": ", ".join(METHODS)})
        return await page(asked, known)

    async def _index(self, _asked: Asked, _known: bool) -> Page:  # noqa: FBT001  as all pages
        return Page(HTTPStatus.OK, INDEX.encode())

    async def _livez(self, _asked: Asked, known: bool) -> Page:  # noqa: FBT001  as all pages
        lag_s = self._heartbeat.lag_s
        told: dict[str, object] = {"alive": lag_s <= LAG_MAX_S}
        if known:
            told["loop_lag_seconds"] = round(lag_s, 6)
        return _told(told, ok=lag_s <= LAG_MAX_S)

    async def _readyz(self, _asked: Asked, known: bool) -> Page:  # noqa: FBT001  as all pages
        verdicts = self._readiness.now()
        ready = all(verdict.ok for verdict in verdicts.values())
        told: dict[str, object] = {"ready": ready}
        if known:
            told["checks"] = {name: verdict._asdict() for name, verdict in verdicts.items()}
        return _told(told, ok=ready)

    async def _metrics(self, asked: Asked, _known: bool) -> Page:  # noqa: FBT001  as all pages
        text, content_type = await self._exposition.text(asked.accept)
        return Page(HTTPStatus.OK, text, content_type)


def _told(what: Mapping[str, object], *, ok: bool) -> Page:
    status = HTTPStatus.OK if ok else HTTPStatus.SERVICE_UNAVAILABLE
    return Page(status, json.dumps(what).encode() + b"\n", JSON)


def _failure(status: HTTPStatus, headers: Mapping[str, str] | None = None) -> Page:
    return Page(status, f"{status.value} {status.phrase}\n".encode(), TEXT, headers or {})
