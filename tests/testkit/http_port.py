"""Asking the operations port, byte by byte where it matters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from testkit.load import scaled

if TYPE_CHECKING:
    import ssl

PATIENCE_S = 60


class Reply(NamedTuple):
    """An answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return what a body of JSON says."""
        return json.loads(self.body)

    @property
    def samples(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Return the samples of /metrics by name and labels."""
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(self.body.decode())
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float | None:
        """Return a sample of /metrics; None where there is none."""
        return self.samples.get((name, frozenset(labels.items())))


async def ask(
    port: int,
    path: str = "/",
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Reply:
    """Ask for a page."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return await send(port, "\r\n".join([*lines, "", ""]).encode(), tls=tls)


async def send(port: int, data: bytes, *, tls: ssl.SSLContext | None = None) -> Reply:
    """Send bytes, and read until the server ends the connection."""
    async with asyncio.timeout(scaled(PATIENCE_S)):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=tls, server_hostname="localhost" if tls else None
        )
        try:
            writer.write(data)
            return reply_of(await reader.read())
        finally:
            writer.close()


def reply_of(data: bytes) -> Reply:
    """Read an answer."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(": ") for line in rest)
    return Reply(int(first.split()[1]), {name.lower(): value for name, _, value in pairs}, body)
