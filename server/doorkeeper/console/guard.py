"""The checks and headers of every request.

A page of another site must not reach the console through the browser: an unknown Host (DNS
rebinding) and another Origin are refused. On the loopback interface nothing else protects it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer browsers send "Origin: null" with forms, also to their own site.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

TLS_HEADERS: Final = {"Strict-Transport-Security": "max-age=31536000"}

CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def hosts_at(port: int, scheme: str = "http") -> frozenset[str]:
    """Return the values of Host with which browsers on this machine ask."""
    names = frozenset(("localhost", "127.0.0.1", "[::1]"))
    is_default = (scheme, port) in (("http", 80), ("https", 443))
    return frozenset(f"{name}:{port}" for name in names).union(names if is_default else ())


class Guard:
    """Refuses requests from elsewhere, and adds the security headers to each response."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], scheme: str = "http") -> None:
        """Take the application, the known values of Host, and the scheme of Origin."""
        self._app = app
        self._hosts = frozenset(hosts)
        self._headers = HEADERS | (TLS_HEADERS if scheme == "https" else {})
        self._origins = frozenset(f"{scheme}://{host}" for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/static/"):
                    headers["Cache-Control"] = "max-age=86400"
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        answer = self._app if refusal is None else PlainTextResponse(refusal, 403)
        await answer(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers) -> str | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if host.lower() not in self._hosts:
            return f"found the host {host!r}; expected one of {', '.join(sorted(self._hosts))}"
        if origin is not None and origin.lower() not in self._origins:
            return (
                f"found the origin {origin!r}; expected one of {', '.join(sorted(self._origins))}"
            )
        # Browsers send Origin with POST. What is not a browser can send any header.
        if method in CHANGING and origin is None:
            return "a form without Origin; expected that of this console"
        return None
