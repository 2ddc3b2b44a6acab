"""Sessions: who has logged in, for how long; and the door that requests without one do not pass."""

from __future__ import annotations

import getpass
import hashlib
import re
import secrets
import time
from collections.abc import Callable
from enum import Enum
from math import inf
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from doorkeeper.server.net.http_listener import network_of

SESSION_S: Final = 8 * 3600.0
"""A working day; then people log in again."""

SESSIONS_MAX: Final = 10_000

SESSIONS_OF_USER_MAX: Final = 50
"""Then the oldest gives way: one user does not log out others by logging in."""

_OPEN: Final = re.compile(r"/login|/login/.*|/static/.*")
"""The paths that need no login."""


class Role(Enum):
    """What a person may do."""

    VIEWER = "viewer"
    OPERATOR = "operator"


class Session(Struct, frozen=True):
    """A person. ``csrf`` is in the forms of its pages, and no other site knows it."""

    user: str
    role: Role
    csrf: str
    ends_s: float
    is_valid: Callable[[], bool] = lambda: True
    """Says whether the user is still known, with this role and password."""

    @property
    def logged_in(self) -> bool:
        """Say whether there is something to log out of."""
        return self.ends_s != inf

    @property
    def may_change(self) -> bool:
        """Say whether the person may change ACLs, where the console may."""
        return self.role is Role.OPERATOR

    def has_sent(self, csrf: str) -> bool:
        """Say whether a form is one of this session."""
        return secrets.compare_digest(csrf.encode(), self.csrf.encode())


def local_session() -> Session:
    """Return the one session of a console on the loopback interface without a login.

    It is that of the user of this process.
    """
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "unknown"
    return Session(user, Role.OPERATOR, secrets.token_urlsafe(24), inf)


class Sessions:
    """The sessions by the digests of their cookies. All calls come from the thread of the loop."""

    def __init__(
        self,
        *,
        is_secure: bool,
        everybody: Session | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """``everybody`` is the session of each request where there is no login."""
        self.everybody = everybody
        self.is_secure = is_secure
        # Browsers take __Host- from https alone, for this host and all paths.
        self.cookie = "__Host-doorkeeper" if is_secure else "doorkeeper"
        self._now_s = now_s
        self._sessions: dict[bytes, Session] = {}

    def of(self, request: Request) -> Session | None:
        """Return the session of a request."""
        if self.everybody is not None:
            return self.everybody
        digest = _digest(request.cookies.get(self.cookie, ""))
        session = self._sessions.get(digest)
        if session is not None and (session.ends_s <= self._now_s() or not session.is_valid()):
            del self._sessions[digest]
            return None
        return session

    def begin(self, user: str, role: Role, answer: Response, is_valid: Callable[[], bool]) -> None:
        """Begin a session, which ends when it is not valid; its cookie is that of the answer."""
        token, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(24)
        earlier = [digest for digest, session in self._sessions.items() if session.user == user]
        for digest in earlier[: 1 - SESSIONS_OF_USER_MAX]:
            del self._sessions[digest]
        ends_s = self._now_s() + SESSION_S
        self._sessions[_digest(token)] = Session(user, role, csrf, ends_s, is_valid)
        while len(self._sessions) > SESSIONS_MAX:
            del self._sessions[next(iter(self._sessions))]
        self.set_cookie(answer, self.cookie, token, SESSION_S)

    def end(self, request: Request, answer: Response) -> None:
        """End the session of a request."""
        self._sessions.pop(_digest(request.cookies.get(self.cookie, "")), None)
        self.set_cookie(answer, self.cookie, "", 0)

    def set_cookie(self, answer: Response, name: str, value: str, age_s: float) -> None:
        """Give an answer a cookie that no script reads, and no form of another site sends."""
        answer.set_cookie(
            name, value, int(age_s), path="/", secure=self.is_secure, httponly=True, samesite="lax"
        )


class Door:
    """Gives each request its session, and asks those without one to log in."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        """Take the application behind the door."""
        self._app = app
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        app: ASGIApp = self._app
        if scope["type"] == "http":
            request = Request(scope)
            request.state.session = self._sessions.of(request)
            if request.state.session is None and not _OPEN.fullmatch(request.url.path):
                app = _to_login(request)
        await app(scope, receive, send)


def session_of(request: Request) -> Session | None:
    """Return the session of a request that has passed the door; None on the page of the login."""
    session: Session | None = request.state.session
    return session


def peer_of(request: Request) -> str:
    """Return the address by which logins are counted."""
    return network_of(request.client.host if request.client is not None else "")


def _to_login(request: Request) -> Response:
    path = request.url.path
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": "/login"})
    if request.method != "GET" or path.endswith((".json", ".md")):
        return PlainTextResponse("log in first, at /login\n", 401)
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/login?{urlencode({'next': f'{path}{query}'})}", 303)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
