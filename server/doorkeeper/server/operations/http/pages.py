"""The pages of the operations port, which ``INDEX`` lists: values in, values out.

/livez is 200 while the event loop runs in time, /readyz if every check holds; else they are 503.

If a login is configured, clients without one get the status and one word of /livez and /readyz,
which is enough for the probes of container platforms, which cannot log in. Every other path is 401
to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final

from aiohttp import web
from msgspec import Struct, to_builtins

from doorkeeper.server.operations.http.answers import Answer, Stream, json_answer, status_answer
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

PROBES: Final = ("/livez", "/readyz")
LOGIN: Final = {"WWW-Authenticate": 'Basic realm="doorkeeper", Bearer'}


class Pages:
    """All pages. ``credentials`` returns the current ones; None admits every client."""

    def __init__(
        self,
        checks: Mapping[str, Check],
        heartbeat: Heartbeat,
        exposition: Exposition,
        credentials: Callable[[], Credentials] | None,
        history: HistoryPages | None = None,
        clusters: Callable[[], Sequence[Mapping[str, object]]] | None = None,
    ) -> None:
        """Without ``history`` the store has none, as one in memory; ``clusters`` as configured."""
        self._checks = checks
        self._heartbeat = heartbeat
        self._exposition = exposition
        self._credentials = credentials
        self._router = web.UrlDispatcher()
        self._router.add_get("/", self._index)
        self._router.add_get("/livez", self._livez)
        self._router.add_get("/readyz", self._readyz)
        self._router.add_get("/metrics", self._metrics)
        if clusters is not None:

            async def answer_clusters(_request: web.Request) -> Answer:
                return json_answer({"clusters": list(clusters())})

            self._router.add_get("/clusters", answer_clusters)
        if history is not None:
            self._router.add_get("/history", history.revisions)
            self._router.add_get("/history/watch", history.watch)

    async def answer(self, request: web.Request) -> Answer | Stream:
        """Return the page, or an error page."""
        answer = await self._page(request)
        # No credentials at all is no guess: probes must not be delayed.
        answer.guessed = bool(request.headers.get("Authorization")) and not self._admits(request)
        return answer

    async def _page(self, request: web.Request) -> Answer | Stream:
        if request.path not in PROBES and not self._admits(request):
            # Also for unknown paths, so that they do not show which pages exist.
            return status_answer(HTTPStatus.UNAUTHORIZED, LOGIN)
        route = await self._router.resolve(request)
        try:
            page = await route.handler(request)
        except web.HTTPException as error:
            allowed = {name: text for name, text in error.headers.items() if name == "Allow"}
            return status_answer(error.status, allowed)
        assert isinstance(page, (Answer, Stream))
        return page

    def _admits(self, request: web.Request) -> bool:
        return self._credentials is None or self._credentials().admit(
            request.headers.get("Authorization", "")
        )

    async def _index(self, _request: web.Request) -> Answer:
        return Answer(HTTPStatus.OK, INDEX.encode())

    async def _livez(self, request: web.Request) -> Answer:
        lag_s = self._heartbeat.lag_s
        body: dict[str, object] = {"alive": lag_s <= LAG_MAX_S}
        if self._admits(request):
            body["loop_lag_seconds"] = round(lag_s, 6)
        return json_answer(body, ok=lag_s <= LAG_MAX_S)

    async def _readyz(self, request: web.Request) -> Answer:
        verdicts = results_of(self._checks)
        ready = all(verdict.ok for verdict in verdicts.values())
        body: dict[str, object] = {"ready": ready}
        if self._admits(request):
            body["checks"] = to_builtins(verdicts)
        return json_answer(body, ok=ready)

    async def _metrics(self, request: web.Request) -> Answer:
        return Answer(
            HTTPStatus.OK, *await self._exposition.text(request.headers.get("Accept", ""))
        )


# --- readiness checks


class CheckResult(Struct, frozen=True):
    """The result of a check. The detail is for operators, and holds no secret."""

    ok: bool
    detail: str


Check = Callable[[], CheckResult]
"""Does not block, and is called in the loop's thread."""


def results_of(checks: Mapping[str, Check]) -> dict[str, CheckResult]:
    """Run all checks, so that the page shows every fault; a check that raises has failed."""
    return {name: _run(check) for name, check in checks.items()}


def _run(check: Check) -> CheckResult:
    try:
        return check()
    except Exception as error:  # a check that cannot say yes says no
        return CheckResult(ok=False, detail=f"the check failed: {type(error).__name__}")
