r"""A callback handler that asks a web service whether a password of PLAIN is right.

Try it, in the project's folder. First a service to ask: it lets in whose password is the name
backwards.

    python examples/authentication/web_passwords.py 8099 &

    PYTHONPATH=examples/authentication python -m doorkeeper serve \
        --override listeners=SASL_PLAINTEXT://localhost:9092 \
        --override sasl.enabled.mechanisms=PLAIN \
        --override sasl.server.callback.handler.class=web_passwords.WebPasswords \
        --override web.passwords.url=http://localhost:8099/check

Then log in as alice with the password ecila. Everyone else is refused; stop the service, and so
is alice: the log has a line about it.

    web.passwords.url    gets a POST of name and password; 204 is yes, 403 is no
"""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from doorkeeper.plugins import PlainPasswords

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.plugins import AuthenticationContext

TIMEOUT_S = 5


class WebPasswords(PlainPasswords):
    """Asks a web service."""

    def configure(
        self,
        configs: Mapping[str, str],
        mechanism: str,
        options: Mapping[str, str],
    ) -> None:
        """Take the URL. ValueError is the line that the operator reads."""
        self._url = configs.get("web.passwords.url", "")
        if not self._url.startswith(("http://", "https://")):
            raise ValueError("web.passwords.url: found no URL; allowed: http://... or https://...")

    async def check(
        self,
        name: str,
        password: str,
        context: AuthenticationContext,
    ) -> bool:
        """Ask in a thread: here, on the event loop, nothing may block."""
        return await asyncio.to_thread(self._asked, name, password)

    def _asked(self, name: str, password: str) -> bool:
        body = json.dumps({"name": name, "password": password}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})  # noqa: S310  checked above
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310  as above
                # Only what was agreed upon is a yes: a page that says hello with 200 is none.
                return bool(answer.status == 204)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 403:
                return False
            # Neither yes nor no. Whatever a handler raises lets nobody in.
            raise


class Demonstration(BaseHTTPRequestHandler):
    """A service for trying this out."""

    def do_POST(self) -> None:
        """Answer one question."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204 if asked["password"] == asked["name"][::-1] else 403)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay quiet: a log of requests is no place for passwords."""


if __name__ == "__main__":
    ThreadingHTTPServer(("localhost", int(sys.argv[1])), Demonstration).serve_forever()
