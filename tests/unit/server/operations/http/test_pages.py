"""What the port answers."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from aiohttp.test_utils import make_mocked_request

from doorkeeper.server.operations.http.answers import Answer
from doorkeeper.server.operations.http.credentials import Credentials
from doorkeeper.server.operations.http.pages import LAG_MAX_S, CheckResult, Pages

TOKEN = "a-token-of-some-length"
PAGES = ("/", "/livez", "/readyz", "/metrics")


class Heart:
    lag_s = 0.0


class Exposed:
    async def text(self, accept: str) -> tuple[bytes, str]:
        return f"numbers for {accept}".encode(), "text/numbers"


class World:
    def __init__(self, *, login: bool = False) -> None:
        self.heart = Heart()
        self.store = CheckResult(ok=True, detail="reachable")
        self.pages = Pages(
            {"store": lambda: self.store},
            cast("Any", self.heart),
            cast("Any", Exposed()),
            (lambda: Credentials([TOKEN])) if login else None,
        )

    async def ask(self, path: str, method: str = "GET", token: str = "") -> Answer:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = make_mocked_request(method, path, headers={"Accept": "x/y", **headers})
        answer = await self.pages.answer(request)
        assert isinstance(answer, Answer)
        return answer


def body_of(answer: Answer) -> bytes:
    assert isinstance(answer.body, bytes)
    return answer.body


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_answers_get_and_head(path: str) -> None:
    """200 where all is well; 405 for other methods; the index has the link."""
    world = World()

    assert [(await world.ask(path, method)).status for method in ("GET", "HEAD")] == [200, 200]
    refused = await world.ask(path, "POST")
    assert (refused.status, refused.headers["Allow"]) == (405, "GET,HEAD")
    assert path in body_of(await world.ask("/")).decode()


async def test_unknown_paths_return_404() -> None:
    """404, whatever the method."""
    for path in ("/nothing", "/metrics/", "//metrics", "/livez/x"):
        assert [(await World().ask(path, method)).status for method in ("GET", "DELETE")] == [
            404
        ] * 2


async def test_late_loop_is_not_alive() -> None:
    """503 where it is later than the bound, with how late."""
    world = World()
    world.heart.lag_s = LAG_MAX_S
    assert (await world.ask("/livez")).status == 200

    world.heart.lag_s = LAG_MAX_S + 1
    page = await world.ask("/livez")

    assert page.status == 503
    assert json.loads(body_of(page)) == {"alive": False, "loop_lag_seconds": LAG_MAX_S + 1}


async def test_readiness_lists_failed_checks() -> None:
    """503 as soon as one check fails; the body names all."""
    world = World()
    assert json.loads(body_of(await world.ask("/readyz"))) == {
        "ready": True,
        "checks": {"store": {"ok": True, "detail": "reachable"}},
    }

    world.store = CheckResult(ok=False, detail="away")
    page = await world.ask("/readyz")

    assert page.status == 503
    assert json.loads(body_of(page))["checks"]["store"] == {"ok": False, "detail": "away"}


@pytest.mark.parametrize("path", ["/", "/metrics", "/nothing"])
async def test_unauthenticated_requests_are_rejected(path: str) -> None:
    """401 for pages that exist and for others, with how to log in."""
    for method in ("GET", "POST"):
        for token in ("", "another-token-of-some"):
            page = await World(login=True).ask(path, method, token)

            assert page.status == 401
            assert page.headers["WWW-Authenticate"] == 'Basic realm="doorkeeper", Bearer'


async def test_probes_need_no_login() -> None:
    world = World(login=True)
    world.store = CheckResult(ok=False, detail="away")

    alive, ready = await world.ask("/livez"), await world.ask("/readyz")
    assert (alive.status, json.loads(body_of(alive))) == (200, {"alive": True})
    assert (ready.status, json.loads(body_of(ready))) == (503, {"ready": False})

    assert "checks" in json.loads(body_of(await world.ask("/readyz", token=TOKEN)))
    assert (await world.ask("/metrics", token=TOKEN)).status == 200
    assert (await world.ask("/nothing", token=TOKEN)).status == 404


@pytest.mark.parametrize("path", PAGES)
async def test_wrong_login_is_counted_on_every_page(path: str) -> None:
    world = World(login=True)

    assert (await world.ask(path, token="guessed-by-somebody")).guessed
    assert not (await world.ask(path, token=TOKEN)).guessed
    assert not (await world.ask(path)).guessed
