"""The pages of the login: a form for names and passwords, the way to the provider and back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from doorkeeper.cli.terminal import say
from doorkeeper.console.login.exposure import CALLBACK, Exposure
from doorkeeper.console.login.oidc import PENDING_S, Oidc, Refused
from doorkeeper.console.login.sessions import Session, Sessions, peer_of, session_of

FIELDS_MAX: Final = 2_000
FORM_BYTES_MAX: Final = 10_000
FAILED_S: Final = 0.1
"""The delay of an answer to a wrong password, as on Kafka's listeners."""

_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")
"""A path of this console: neither of another host nor with characters that headers lack."""

Page = Callable[..., Response]


class LoginPages:
    """The routes of a login."""

    def __init__(self, exposure: Exposure, sessions: Sessions, page: Page) -> None:
        """``page`` renders a template: name, status, session, values."""
        self._users = exposure.users
        self._oidc = None if exposure.oidc is None else Oidc(exposure.oidc)
        self._sessions = sessions
        self._page = page
        self._browser_cookie = f"{sessions.cookie}-login"

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/login", self._form),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/login/provider", self._to_provider),
            Route(CALLBACK, self._from_provider),
            Route("/logout", self._log_out, methods=["POST"]),
        ]

    async def _form(self, request: Request) -> Response:
        if session_of(request) is not None:
            return RedirectResponse("/", 303)
        return self._answer(local_path(request.query_params.get("next", "")))

    def _answer(self, next_path: str, problem: str = "", status: int = 200) -> Response:
        return self._page(
            "login.html",
            status,
            session=None,
            next=next_path,
            problem=problem,
            has_users=self._users is not None,
            has_provider=self._oidc is not None,
        )

    async def _log_in(self, request: Request) -> Response:
        fields = await fields_of(request)
        next_path, name = local_path(fields.get("next", "")), fields.get("name", "")
        if self._users is None:
            return self._answer(next_path, "there are no users with passwords", 404)
        try:
            password = fields.get("password", "")
            user = await self._users.log_in(peer_of(request), name, password)
        except Refused as error:
            return self._answer(next_path, str(error), 429)
        if user is None:
            await asyncio.sleep(FAILED_S)
            say(f"wrong name or password from {request.client.host if request.client else ''}")
            return self._answer(next_path, "wrong name or password", 401)
        answer = RedirectResponse(next_path, 303)
        self._sessions.begin(name, user.role, answer, partial(self._users.has, name, user))
        return answer

    async def _to_provider(self, request: Request) -> Response:
        next_path = local_path(request.query_params.get("next", ""))
        if self._oidc is None:
            return self._answer(next_path, "there is no provider", 404)
        try:
            page, browser = await self._oidc.begin(next_path, peer_of(request))
        except Refused as error:
            say(str(error))
            return self._answer(next_path, str(error), 502)
        answer = RedirectResponse(page, 303)
        self._sessions.set_cookie(answer, self._browser_cookie, browser, PENDING_S)
        return answer

    async def _from_provider(self, request: Request) -> Response:
        if self._oidc is None:
            return self._answer("/", "there is no provider", 404)
        browser = request.cookies.get(self._browser_cookie, "")
        try:
            user, role, next_path = await self._oidc.finish(dict(request.query_params), browser)
        except Refused as error:
            say(str(error))
            return self._answer("/", str(error), 403)
        answer = RedirectResponse(next_path, 303)
        self._sessions.begin(user, role, answer, lambda: True)
        self._sessions.set_cookie(answer, self._browser_cookie, "", 0)
        return answer

    async def _log_out(self, request: Request) -> Response:
        session: Session | None = session_of(request)
        if session is None or not session.has_sent((await fields_of(request)).get("csrf", "")):
            return PlainTextResponse("the form is not of this session\n", 403)
        answer = RedirectResponse("/login", 303)
        self._sessions.end(request, answer)
        return answer


def local_path(text: str) -> str:
    """Return a path of this console; / in place of anything else."""
    return text if _PATH.fullmatch(text) else "/"


async def form_of(request: Request, bytes_max: int) -> dict[str, list[str]] | None:
    """Return the fields of a form; None for one that is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > bytes_max:
            return None
    return fields_in(body.decode("ascii", "replace"))


def fields_in(text: str) -> dict[str, list[str]]:
    """Return the fields of a query or a form; the status 400 is for too many."""
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="replace")
    except ValueError as error:
        raise HTTPException(400, f"expected at most {FIELDS_MAX} fields\n") from error


async def fields_of(request: Request) -> Mapping[str, str]:
    """Return the fields of a small form; none of one that is too large."""
    fields = await form_of(request, FORM_BYTES_MAX) or {}
    return {name: values[-1] for name, values in fields.items()}
