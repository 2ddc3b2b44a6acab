"""Changes of a server's store as they are made, from the stream of its operations port.

A lost connection is made again, behind the last change: each comes once and in order. The stream is
that of ``docs/reference/operations-port.md``; the values are those of its JSON.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from ssl import SSLContext
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from doorkeeper.client.errors import LoginRefused, Unreachable, WatchRefused

PATH: Final = "/history/watch"

SILENCE_S: Final = 60.0
"""The server writes more often; a connection without a word for so long is lost."""

EVENT_BYTES_MAX: Final = 256 * 1024 * 1024

_OK: Final = 200
_UNAUTHORIZED: Final = 401
_LATER: Final = 503


async def watch(
    url: str,
    *,
    from_revision: int | None = None,
    principals: Sequence[str] = (),
    token: str | None = None,
    tls: SSLContext | None = None,
    retry_s: float = 1.0,
) -> AsyncIterator[dict[str, Any]]:
    """Yield every change from a revision on, or from now on, without end.

    ``url`` is that of an operations port, ``token`` its bearer token. ``principals`` selects
    changes of ACLs of these principals.

    Raises:
        Unreachable: the first connection failed; later ones are tried again.
        LoginRefused: the port wants another login.
        WatchRefused: the server does not have the revision, or no such page.
    """
    stream = _Stream(url, principals, token, tls)
    last_id = None if from_revision is None else str(from_revision - 1)
    is_known = False
    while True:
        try:
            async for event_id, data in stream.events(last_id):
                is_known = True
                last_id = event_id
                if data:
                    yield json.loads(data)
        except (OSError, EOFError, TimeoutError) as error:
            if not is_known:
                raise Unreachable(f"{url}: {str(error) or type(error).__name__}") from error
        await asyncio.sleep(retry_s)


class _Stream:
    def __init__(
        self, url: str, principals: Sequence[str], token: str | None, tls: SSLContext | None
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"found {url!r}; allowed: http://HOST:PORT or https://HOST:PORT")
        is_tls = parts.scheme == "https"
        self._url = url
        self._host, self._port = parts.hostname, parts.port or (443 if is_tls else 80)
        self._tls: SSLContext | bool | None = (tls or True) if is_tls else None
        query = urlencode([("principal", principal) for principal in principals])
        # With 1.0 the answer is not cut into chunks.
        self._head = [f"GET {PATH}?{query} HTTP/1.0", f"Host: {parts.netloc.rpartition('@')[2]}"]
        if token is not None:
            self._head.append(f"Authorization: Bearer {token}")

    async def events(self, last_id: str | None) -> AsyncIterator[tuple[str, str]]:
        """Yield the id and the data of each event behind one, until the connection ends."""
        reader, writer = await asyncio.open_connection(
            self._host, self._port, ssl=self._tls, limit=EVENT_BYTES_MAX
        )
        try:
            head = self._head if last_id is None else [*self._head, f"Last-Event-ID: {last_id}"]
            writer.write("\r\n".join([*head, "", ""]).encode())
            await self._check(reader)
            event_id, data = last_id or "", ""
            while True:
                async with asyncio.timeout(SILENCE_S):
                    line = (await reader.readuntil(b"\n")).decode().rstrip("\r\n")
                name, _, value = line.partition(": ")
                if name == "id":
                    event_id = value
                elif name == "data":
                    data = value
                elif not line and event_id:
                    yield event_id, data
                    data = ""
        finally:
            writer.close()

    async def _check(self, reader: asyncio.StreamReader) -> None:
        async with asyncio.timeout(SILENCE_S):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status = int(head.split(" ", 2)[1])
        if status == _OK:
            return
        text = (await reader.read(1_000)).decode("utf-8", "replace").strip()
        if status == _UNAUTHORIZED:
            raise LoginRefused(f"{self._url}: {text}")
        if status == _LATER:
            raise ConnectionError(text)
        raise WatchRefused(f"{self._url}: {text}")
