"""A provider of OpenID Connect on this machine, whose answers can be wrong on purpose.

with provider() as one:
    one.claims["aud"] = "another"
    location = one.log_in(page)     # what the browser does on the provider's page
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey

CLIENT, SECRET = "console", "s:e crét"


class Provider:
    """The provider. ``claims`` change those of the ID token; None takes one out."""

    def __init__(self) -> None:
        """Make its keys."""
        self.issuer = ""
        self.announced_issuer: str | None = None
        self.secret = SECRET
        self.user: dict[str, Any] = {"sub": "42", "preferred_username": "alice"}
        self.claims: dict[str, Any] = {}
        self.answer: dict[str, str] = {}
        """Changes of the fields that the browser brings back."""
        self.key = ECKey.generate_key("P-256", {"kid": "one"})
        self.signs_with = self.key
        self.requests: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def log_in(self, page: str) -> str:
        """Return where the browser is sent after the login on a page of ours."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(page).query).items()}
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self._codes)}"
        self._codes[code] = query
        fields = {"code": code, "state": query["state"]} | self.answer
        return f"{query['redirect_uri']}?{urlencode(fields)}"

    def document(self, path: str) -> dict[str, Any] | None:
        """Return the answer to a GET."""
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.announced_issuer or self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
            }
        return {"keys": [self.key.as_dict(private=False)]} if path == "/keys" else None

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Return the answer to a code; None if client, verifier or code are wrong."""
        query = self._codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if query is None or query["code_challenge"] != challenge:
            return None
        if form["redirect_uri"] != query["redirect_uri"] or not self._is_client(
            form, authorization
        ):
            return None
        now_s = int(time.time())  # noqa: TID251  a token of now
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now_s,
            "exp": now_s + 60,
            "nonce": query["nonce"],
            **self.user,
            **self.claims,
        }
        payload = json.dumps({name: one for name, one in claims.items() if one is not None})
        header = {"alg": "ES256", "kid": "one"}
        return {"id_token": jws.serialize_compact(header, payload, self.signs_with)}

    def _is_client(self, form: dict[str, str], authorization: str) -> bool:
        if not self.secret:
            return form.get("client_id") == CLIENT
        words = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        return [unquote_plus(word) for word in words.split(":")] == [CLIENT, self.secret]


@contextmanager
def provider() -> Iterator[Provider]:
    """Open a provider at a free port."""
    ours = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(ours.document(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self.reply(ours.token(form, self.headers.get("Authorization", "")))

        def reply(self, document: dict[str, Any] | None) -> None:
            ours.requests.append(self.path)
            data = json.dumps(document).encode()
            self.send_response(400 if document is None else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    ours.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield ours
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
