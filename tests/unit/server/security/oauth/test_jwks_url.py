"""Keys of an identity provider, fetched from a real server on this machine."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.config.sasl_keys import (
    SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MS,
)
from doorkeeper.server.security.oauth import jwks_url
from doorkeeper.server.security.oauth.jwks_url import UrlKeys, redact_url
from testkit.load import scaled
from testkit.recording_logger import RecordingLogger
from testkit.tokens import key_of, key_set

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

FIRST = key_set(key_of("EC", "first"))
SECOND = key_set(key_of("EC", "second"))
STEPS_MAX = 500


class Provider:
    """An identity provider: what it answers can be changed, and is counted."""

    def __init__(self) -> None:
        self.text = FIRST
        self.status = 200
        self.headers: dict[str, str] = {}
        self.fetches = 0
        self.held: asyncio.Event | None = None
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.fetches += 1
        if self.held is not None:
            await self.held.wait()
        return web.Response(body=self.text, status=self.status, headers=self.headers)


@asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    found = Provider()
    app = web.Application()
    app.router.add_get("/keys", found.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.url = f"http://user:hush@127.0.0.1:{runner.addresses[0][1]}/keys?token=hush"
    try:
        yield found
    finally:
        await runner.cleanup()


def keys_at(
    url: str,
    log: RecordingLogger,
    *,
    refresh_s: float = 60.0,
    backoff_s: float = 0.01,
    backoff_max_s: float = 0.05,
) -> UrlKeys:
    values = {
        SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS.name: refresh_s,
        SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MS.name: backoff_s,
        SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS.name: backoff_max_s,
    }
    settings = MechanismSettings(
        name="OAUTHBEARER",
        listener_name="A",
        values={key: str(round(value_s * 1000)) for key, value_s in values.items()},
    )
    return UrlKeys(url, settings, log)


def ids(keys: UrlKeys) -> list[str | None]:
    return [each.kid for each in keys.keys.keys]


async def until(true: Callable[[], bool]) -> None:
    for _ in range(STEPS_MAX):
        if true():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not happen")


async def looked(keys: UrlKeys) -> bool:
    """Look again; say whether there was something to wait for."""
    newer: Awaitable[object] | None = keys.fetch_newer()
    if newer is None:
        return False
    await newer
    return True


async def test_keys_are_fetched_at_start_and_periodically() -> None:
    async with provider() as found:
        keys = keys_at(found.url, RecordingLogger(), refresh_s=0.02)
        await keys.start()
        first = ids(keys)

        found.text = SECOND
        await until(lambda: ids(keys) == ["second"])
        await keys.close()

    assert first == ["first"]


async def test_unknown_key_triggers_a_limited_fetch() -> None:
    async with provider() as found:
        keys = keys_at(found.url, RecordingLogger())
        await keys.start()
        found.text, found.held = SECOND, asyncio.Event()

        waiting = [asyncio.ensure_future(looked(keys)) for _ in range(5)]
        await until(lambda: found.fetches == 2)
        found.held.set()
        shared = await asyncio.gather(*waiting)
        again = await looked(keys)
        await keys.close()

    assert shared == [True] * 5
    assert again is False
    assert ids(keys) == ["second"]
    assert found.fetches == 2


async def test_who_asks_before_the_fetch_begins_waits_for_it_too() -> None:
    """Clients of a new key may ask in one turn of the loop; only then they begin to wait."""
    async with provider() as found:
        log = RecordingLogger()
        keys = keys_at(found.url, log)
        await keys.start()
        found.status = 500

        asked = [keys.fetch_newer() for _ in range(3)]
        await asyncio.gather(*(newer for newer in asked if newer is not None))
        await keys.close()

    assert None not in asked
    assert found.fetches == 2
    assert len(log.lines) == 1, "one line for all who wait"


async def test_failures_are_paced_without_a_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def noted(wait_s: float) -> None:
        waits.append(wait_s)
        await sleep(0)

    async with provider() as found:
        keys = keys_at(found.url, RecordingLogger(), backoff_s=0.0, backoff_max_s=0.0)
        await keys.start()
        found.status = 500
        monkeypatch.setattr(asyncio, "sleep", noted)
        for _ in range(STEPS_MAX):
            if found.fetches >= 5:
                break
            await sleep(0.01)
        await keys.close()

    # aiohttp sleeps too, for no time.
    assert [wait_s for wait_s in waits if wait_s][:3] == [60.0, 0.1, 0.1]


FAULTS = {
    "an error of the provider": (500, FIRST, "found status 500; allowed: 200"),
    "a redirect": (302, FIRST, "found status 302; allowed: 200"),
    "too much": (200, b" " * 524_289, "found more than 524288 bytes"),
}


@pytest.mark.parametrize(("status", "text", "told"), FAULTS.values(), ids=FAULTS)
async def test_failed_fetch_keeps_the_keys(status: int, text: bytes, told: str) -> None:
    log = RecordingLogger()
    async with provider() as found:
        keys = keys_at(found.url, log, refresh_s=0.02)
        await keys.start()
        found.status, found.text = status, text
        found.headers = {"Location": "/elsewhere"} if status == 302 else {}
        await until(lambda: len(log.lines) >= 3)
        kept = ids(keys)

        found.status, found.text = 200, SECOND
        await until(lambda: ids(keys) == ["second"])
        await keys.close()

    assert kept == ["first"]
    assert told in str(log.lines[0])
    assert "hush" not in str(log.lines)


async def test_unreachable_provider_stops_the_start() -> None:
    async with provider() as found:
        url = found.url
    keys = keys_at(url, RecordingLogger())

    with pytest.raises(ValueError, match=r"^http://127\.0\.0\.1:\d+/keys: .*[Cc]onnect"):
        await keys.start()


async def test_silent_provider_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwks_url, "FETCH_S", 0.05)
    async with provider() as found:
        found.held = asyncio.Event()

        with pytest.raises(ValueError, match=r"no response within 0\.05 s"):
            await keys_at(found.url, RecordingLogger()).start()
        found.held.set()


async def test_close_cancels_a_fetch() -> None:
    async with provider() as found:
        keys = keys_at(found.url, RecordingLogger())
        await keys.start()
        found.held = asyncio.Event()
        waiting = asyncio.ensure_future(looked(keys))
        await until(lambda: found.fetches == 2)

        await keys.close()
        await asyncio.wait({waiting}, timeout=scaled(5))
        found.held.set()

    assert waiting.done()


def test_url_is_shown_without_secrets() -> None:
    assert "hush" not in repr(keys_at("https://u:hush@idp", RecordingLogger()))
    assert redact_url("https://u:hush@idp:8443/keys?a=hush#hush") == "https://idp:8443/keys"
