"""The probe inside the container."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from testkit.checkout import ROOT

PROBE = ROOT / "docker" / "healthcheck.py"


@contextmanager
def answering(status: int) -> Iterator[str]:
    """Answer every request with a status; give the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/livez" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/livez"
        finally:
            server.shutdown()
            thread.join()


def probe(url: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-I", "-B", str(PROBE)],
        env={**os.environ, "DOORKEEPER_HEALTH_URL": url, "http_proxy": "http://127.0.0.1:1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_healthy_server() -> None:
    """0, and no word; a proxy in the environment is not asked."""
    with answering(200) as url:
        assert probe(url) == (0, "")


def test_unhealthy_server() -> None:
    """1 and a line: an error, nobody there, and what is no address."""
    with answering(503) as url:
        assert probe(url) == (1, f"{url}: status 503\n")
    status, told = probe(url)
    assert (status, "refused" in told) == (1, True)
    assert probe("file:///etc/passwd")[0] == 1
    assert "allowed: http:// or https://" in probe("file:///etc/passwd")[1]
