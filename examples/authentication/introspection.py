r"""A callback handler that asks an identity provider what a token says (RFC 7662).

It is for tokens that say nothing by themselves: random texts, which only their issuer knows.

Try it, in the project's folder. First an issuer to ask: the token ``alice-token`` is alice's, for
an hour, and so on.

    python examples/authentication/introspection.py 8098 &

    PYTHONPATH=examples/authentication python -m doorkeeper serve \
        --override listeners=SASL_PLAINTEXT://localhost:9092 \
        --override sasl.enabled.mechanisms=OAUTHBEARER \
        --override sasl.server.callback.handler.class=introspection.Introspection \
        --override introspection.url=http://localhost:8098/introspect \
        --override introspection.secret=doorkeeper-secret

    introspection.url       gets a POST of the token
    introspection.secret    what the server itself is known by
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from doorkeeper.plugins import TokenRefused, TokenValidator, ValidatedToken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.plugins import AuthenticationContext

TIMEOUT_S = 5


class Introspection(TokenValidator):
    """Asks the issuer."""

    def configure(
        self,
        configs: Mapping[str, str],
        mechanism: str,
        options: Mapping[str, str],
    ) -> None:
        """Take the URL and the secret."""
        self._url = configs.get("introspection.url", "")
        self._secret = configs.get("introspection.secret", "")
        if not self._url.startswith(("http://", "https://")):
            raise ValueError("introspection.url: found no URL; allowed: http://... or https://...")

    async def validate(
        self,
        token: str,
        context: AuthenticationContext,
    ) -> ValidatedToken:
        """Ask in a thread. The session ends with the token."""
        said = await asyncio.to_thread(self._asked, token)
        if said.get("active") is not True:
            raise TokenRefused("the issuer says that the token is not active")
        scope = str(said.get("scope", "")).split()
        if "kafka" not in scope:
            raise TokenRefused(
                "the token is not for us", status="insufficient_scope", scope="kafka"
            )
        return ValidatedToken(str(said["sub"]), int(said["exp"]) * 1000, claims=said)

    def _asked(self, token: str) -> dict[str, Any]:
        body = urllib.parse.urlencode({"token": token}).encode()
        headers = {"Authorization": f"Bearer {self._secret}"}
        request = urllib.request.Request(self._url, body, headers)  # noqa: S310  checked above
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310  as above
            said: dict[str, Any] = json.load(answer)
            return said


class Demonstration(BaseHTTPRequestHandler):
    """An issuer for trying this out."""

    def do_POST(self) -> None:
        """Say what a token is."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        name, _, rest = urllib.parse.parse_qs(body)["token"][0].partition("-")
        said: dict[str, object] = {"active": False}
        if rest == "token":
            scope = "mail" if name == "mallory" else "mail kafka"
            said = {"active": True, "sub": name, "exp": int(time.time()) + 3600, "scope": scope}  # noqa: TID251  a demonstration
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


if __name__ == "__main__":
    ThreadingHTTPServer(("localhost", int(sys.argv[1])), Demonstration).serve_forever()
