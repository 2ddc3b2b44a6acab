"""Keys of an identity provider: fetched at the start, by a timer, and when a token names a new one.

A fetch that fails leaves the keys as they are, and is tried again after a wait that doubles. A
stranger can name keys that nobody has: fetches that tokens ask for have a pause between them.

Source: ``RefreshingHttpsJwks`` of kafka-clients 4.3.1, which refuses the first token of a new key
while it fetches; here the client waits for the fetch.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from doorkeeper.authn.oauth.jwks import JWKS_BYTES_MAX, KeySet, parse
from doorkeeper.value import Value, hidden

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable

    from doorkeeper.logger import Logger

FETCH_S: Final = 10.0
"""What a fetch may take: a client of a new key waits as long."""

PAUSE_S: Final = 10.0
"""Between two fetches because of a key that is not here."""


class Endpoint(Value):
    """Where keys are fetched, how often, and the waits after a fetch that failed."""

    url: str = hidden()
    refresh_s: float
    backoff_s: float
    backoff_max_s: float
    tls: ssl.SSLContext | None = None


class UrlKeys:
    """The keys of an endpoint. ``start`` comes first, ``close`` last."""

    def __init__(self, endpoint: Endpoint, logger: Logger) -> None:
        """Fetch there; tell the log what goes wrong."""
        self._endpoint = endpoint
        self._logger = logger
        self._shown = shown(endpoint.url)
        self._session: aiohttp.ClientSession | None = None
        self._timer: asyncio.Task[None] | None = None
        self._fetching: asyncio.Task[str | None] | None = None
        self._asked_s = -PAUSE_S
        self.keys = KeySet(())

    async def start(self) -> None:
        """Fetch the keys, trying for as long as the longest wait, and start the timer.

        Raises:
            ValueError: they cannot be had.

        """
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=FETCH_S), auto_decompress=False, trust_env=False
        )
        loop = asyncio.get_running_loop()
        end_s, wait_s = loop.time() + self._endpoint.backoff_max_s, self._endpoint.backoff_s
        while (problem := await self._fetched()) is not None:
            if loop.time() + wait_s > end_s:
                await self.close()
                raise ValueError(problem)
            await asyncio.sleep(wait_s)
            wait_s = self._longer(wait_s)
        self._timer = loop.create_task(self._run())

    async def close(self) -> None:
        """Stop fetching."""
        for task in (self._timer, self._fetching):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        if self._session is not None:
            await self._session.close()

    def look_again(self) -> Awaitable[None] | None:
        """Fetch, or wait for the fetch under way; None in the pause after the last one."""
        if self._fetching is None or self._fetching.done():
            now_s = asyncio.get_running_loop().time()
            if now_s - self._asked_s < PAUSE_S:
                return None
            self._asked_s = now_s
        return self._looked()

    def refresh(self) -> str | None:
        """Do nothing: the timer does it."""
        return None

    async def _looked(self) -> None:
        problem = await self._fetched()
        if problem is not None:
            self._logger.warning("keys for tokens not fetched", url=self._shown, problem=problem)

    async def _run(self) -> None:
        wait_s, failed_s = self._endpoint.refresh_s, self._endpoint.backoff_s
        while True:
            await asyncio.sleep(wait_s)
            problem = await self._fetched()
            if problem is None:
                wait_s, failed_s = self._endpoint.refresh_s, self._endpoint.backoff_s
                continue
            self._logger.warning("keys for tokens not fetched", url=self._shown, problem=problem)
            wait_s, failed_s = failed_s, self._longer(failed_s)

    def _longer(self, wait_s: float) -> float:
        return min(wait_s * 2, self._endpoint.backoff_max_s)

    async def _fetched(self) -> str | None:
        """Join the fetch under way, or begin one; return what was wrong."""
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.get_running_loop().create_task(self._fetch())
        # Who waits may be gone before the others are served.
        return await asyncio.shield(self._fetching)

    async def _fetch(self) -> str | None:
        try:
            self.keys = parse(await self._read())
        except TimeoutError:
            return f"{self._shown}: no answer in {FETCH_S:g} s"
        except (aiohttp.ClientError, OSError) as error:
            # First: some of them are ValueErrors too.
            return f"{self._shown}: {_cause(error)}"
        except ValueError as error:
            return f"{self._shown}: {error}"
        except Exception as error:  # noqa: BLE001  whatever it is, the timer goes on
            return f"{self._shown}: {type(error).__name__}"
        return None

    async def _read(self) -> bytes:
        assert self._session is not None
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        tls = self._endpoint.tls
        async with self._session.get(
            self._endpoint.url,
            headers=headers,
            allow_redirects=False,
            ssl=True if tls is None else tls,
        ) as response:
            if response.status != HTTPStatus.OK:
                raise ValueError(f"found status {response.status}; allowed: 200")
            data = bytearray()
            async for chunk in response.content.iter_chunked(65536):
                data += chunk
                if len(data) > JWKS_BYTES_MAX:
                    raise ValueError(f"found more than {JWKS_BYTES_MAX} bytes")
            return bytes(data)


def shown(url: str) -> str:
    """Return a URL as logs may show it: without a password, and without what it is asked."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _cause(error: Exception) -> str:
    """Return what went wrong below; the text of some errors holds the whole URL."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        told = getattr(error.certificate_error, "verify_message", "unknown reason")
        return f"its certificate is not trusted: {told}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
