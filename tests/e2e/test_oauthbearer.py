"""OAUTHBEARER in a real process: keys that a provider publishes, rotates and withholds."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from testkit import logins
from testkit.e2e import refusal
from testkit.serving import Serving
from testkit.tokens import key_of, key_set, signed, unsigned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from testkit.tokens import Key

URL_KEY = "listener.name.clients.oauthbearer.sasl.oauthbearer.jwks.endpoint.url"
HANDLER_KEY = "listener.name.clients.oauthbearer.sasl.server.callback.handler.class"
UNSECURED = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured"
    ".OAuthBearerUnsecuredValidatorCallbackHandler"
)
BACKOFF_KEY = "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"
FIRST, SECOND = key_of("EC", "first"), key_of("P-384", "second")
INVALID = '{"status":"invalid_token"}'


class Provider:
    """What an identity provider answers now."""

    def __init__(self) -> None:
        self.status = 200
        self.text = key_set(FIRST)
        self.asked = 0
        self.url = ""


@contextmanager
def provider() -> Iterator[Provider]:
    """Publish a key set over HTTP."""
    found = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked += 1
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(found.text)))
            self.end_headers()
            self.wfile.write(found.text)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/keys"
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def options(**changed: str) -> list[str]:
    """Return a server with one door, and other keys."""
    settings = {
        "listeners": "CLIENTS://localhost:0",
        "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT",
        "inter.broker.listener.name": "CLIENTS",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "connection.failed.authentication.delay.ms": "0",
        BACKOFF_KEY: "200",
        **changed,
    }
    return [word for key, value in settings.items() for word in ("--override", f"{key}={value}")]


def token(key: Key, algorithm: str, **claims: Any) -> str:
    now_s = time.time_ns() // 10**9
    return signed({"sub": "alice", "iat": now_s, "exp": now_s + 600} | claims, key, algorithm)


def logged_in(server: Serving, text: str) -> str | None:
    """Log in; return the text of the refusal, None when there is none."""
    with server.connect("CLIENTS") as conversation:
        answer = logins.oauthbearer(conversation, text)
        return answer.error_message if answer.error_code else None


def test_key_rotation_is_noticed_by_the_first_token(tmp_path: Path) -> None:
    new, stranger = token(SECOND, "ES384"), token(key_of("RSA", "nobody"), "RS256")
    with provider() as idp, Serving(tmp_path, *options(**{URL_KEY: idp.url})) as server:
        assert logged_in(server, token(FIRST, "ES256")) is None
        idp.text = key_set(FIRST, SECOND)
        first = logged_in(server, new)
        asked = idp.asked
        strangers = {logged_in(server, stranger) for _ in range(20)}
        server.line("started")

        assert first is None
        assert strangers == {INVALID}
        assert (asked, idp.asked) == (2, 2)
        assert server.stop() == 0
        assert server.errors() == ""


def test_unavailable_provider_keeps_the_keys(tmp_path: Path) -> None:
    refresh = "sasl.oauthbearer.jwks.endpoint.refresh.ms"
    with (
        provider() as idp,
        Serving(tmp_path, *options(**{URL_KEY: idp.url, refresh: "100"})) as server,
    ):
        server.line("started")
        idp.status = 500
        told = server.line("the keys that sign tokens could not be fetched")
        kept = logged_in(server, token(FIRST, "ES256"))
        idp.status, idp.text = 200, key_set(SECOND)
        back = logged_in(server, token(SECOND, "ES384"))

        assert "found status 500; allowed: 200" in told["problem"]
        assert kept is None
        assert back is None


def test_unsigned_tokens_on_request(tmp_path: Path) -> None:
    """With Kafka's name for the handler; the log says what that means. SIGHUP ends it."""
    file = tmp_path / "server.properties"
    words = options(**{HANDLER_KEY: UNSECURED})[1::2]
    file.write_text("\n".join(words))
    text = unsigned({"sub": "alice", "exp": 1e11})
    with provider() as idp, Serving(tmp_path, "--config", str(file)) as server:
        warned = server.line("unsigned tokens are accepted: any client can use any name")
        before = logged_in(server, text)
        file.write_text("\n".join([*words[:-1], f"{URL_KEY}={idp.url}"]))
        server.process.send_signal(signal.SIGHUP)
        server.line("reloaded")
        after = logged_in(server, text)

        assert warned["listener"] == "CLIENTS"
        assert before is None
        assert after == INVALID


def refused(folder: Path, **changed: str) -> str:
    """Start a server that must not start; return the only line that it printed."""
    return refusal(Serving(folder, *options(**changed)))


def test_missing_token_verification_stops_the_start(tmp_path: Path) -> None:
    """Kafka's handler without a key set: a line, and what to configure."""
    handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    line = refused(tmp_path, **{HANDLER_KEY: handler})
    assert (
        "listener CLIENTS offers OAUTHBEARER, but nothing is configured to verify its tokens. Set"
    ) in line
    assert f"{HANDLER_KEY}={UNSECURED}" in line


def test_unreachable_provider_stops_the_start(tmp_path: Path) -> None:
    with provider() as idp:
        url = idp.url
    assert f"{URL_KEY}: {url}: " in refused(tmp_path, **{URL_KEY: url})
