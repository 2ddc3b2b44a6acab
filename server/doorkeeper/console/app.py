"""The routes of the console."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from sys import maxsize
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from doorkeeper.cli.acls.printing import code_block
from doorkeeper.cli.terminal import say
from doorkeeper.console.advice import Advice
from doorkeeper.console.changes import accept, apply, require_change
from doorkeeper.console.guard import Guard
from doorkeeper.console.login.exposure import Exposure
from doorkeeper.console.login.routes import LoginPages, fields_in, form_of
from doorkeeper.console.login.sessions import Door, Sessions, local_session, session_of
from doorkeeper.console.page import OPERATIONS, RESOURCES, TYPES, Asked, Page, Settings, Wrong
from doorkeeper.console.pages import PAGES
from doorkeeper.console.pages.change import target_of
from doorkeeper.console.rendering import FOLDER, environment, link
from doorkeeper.console.runs import Answer, run
from doorkeeper.console.sets import Sets, SetState
from doorkeeper.console.texts import TEXT_BYTES_MAX, Texts

NOT_KEPT = "the console no longer has the text that this link stands for; send the form again"


class Console:
    """The pages over some sets of ACLs."""

    def __init__(self, sets: Sets, settings: Settings) -> None:
        """Take the sets, which are read by then or later, and the options."""
        self.sets = sets
        self.settings = settings
        self.texts = Texts()
        self.advice = None
        if settings.advice is not None:
            self.advice = Advice(settings.advice, settings.findings)
        self._templates = environment()
        self._templates.globals.update(
            pages=PAGES,
            sets=sets,
            settings=settings,
            page=None,
            asked=None,
            operations=OPERATIONS,
            resources=RESOURCES,
            types=TYPES,
        )
        self._pages = {page.name: page for page in PAGES}

    def app(self, exposure: Exposure) -> Starlette:
        """Return the application for an address."""
        everybody = None if exposure.has_login else local_session()
        sessions = Sessions(is_secure=exposure.tls is not None, everybody=everybody)
        routes = [
            *LoginPages(exposure, sessions, self._html).routes(),
            Route("/", self._home),
            Mount("/static", StaticFiles(directory=FOLDER / "static")),
            Route("/read-again", self._posted(self._read_again), methods=["POST"]),
            Route("/change", self._posted(self._change), methods=["POST"]),
            Route("/accept", self._posted(self._accept), methods=["POST"]),
            Route("/{page}.json", self._json),
            Route("/{page}.md", self._markdown),
            Route("/{page}", self._page),
            Route("/{page}", self._posted(self._keep_texts), methods=["POST"]),
        ]
        return Starlette(
            routes=routes,
            middleware=[
                Middleware(Guard, hosts=exposure.hosts, scheme=exposure.scheme),
                Middleware(Door, sessions=sessions),
            ],
            exception_handlers={
                404: self._not_found,
                OSError: _failed,
                # Nobody hears it; without a handler it is a traceback in the log.
                ClientDisconnect: lambda *_: Response(status_code=400),
            },
        )

    # --- pages

    def _home(self, request: Request) -> Response:
        states = [self.sets.fresh(name) for name in self.sets.states]
        waits = any(state.is_reading for state in states)
        session = session_of(request)
        return self._html(
            "home.html", session=session, states=states, page=None, waits=waits, asked=None
        )

    def _page(self, request: Request) -> Response:
        page = self._pages.get(request.path_params["page"])
        if page is None:
            return self._not_found(request, None)
        with self._asked(request) as asked:
            try:
                state = asked.set_state() if page.needs_set else None
                if state is not None and state.reading is None:
                    waits = state.is_reading
                    values = {"page": page, "asked": asked, "state": state, "waits": waits}
                    return self._html("unread.html", 200 if waits else 502, **values)
                answers = self._answers(page, asked, "json")
                return self._question(page, asked, answers, state=state)
            except Wrong as error:
                problem, rest = str(error), asked
            except KeyError:
                problem, rest = NOT_KEPT, asked.without(page.long)
            try:
                return self._question(page, rest, [], problem=problem)
            except Wrong:
                # The form cannot be shown with what is wrong.
                return self._question(page, asked.without([*asked.fields]), [], problem=problem)

    def _question(
        self,
        page: Page,
        asked: Asked,
        answers: Sequence[Answer],
        *,
        state: SetState | None = None,
        problem: str | None = None,
    ) -> Response:
        failure = next((answer for answer in answers if answer.failed), None)
        values = page.show(asked, [] if failure else answers)
        return self._html(
            f"{page.name}.html",
            200 if problem is None else 400,
            page=page,
            asked=asked,
            answers=answers,
            state=state,
            failure=failure,
            problem=problem,
            **values,
        )

    def _json(self, request: Request) -> Response:
        answer = self._part(request, "json")
        if isinstance(answer, Response):
            return answer
        return Response(answer.json + "\n", media_type="application/json")

    def _markdown(self, request: Request) -> Response:
        page = self._pages.get(request.path_params["page"])
        answer = self._part(request, page.markdown if page and page.markdown else "text")
        if isinstance(answer, Response):
            return answer
        command = code_block([f"$ {answer.command.line}"], "sh")
        text = [answer.text] if page and page.markdown else code_block([answer.text], "text")
        return PlainTextResponse("\n".join([*command, "", *text, ""]), media_type="text/markdown")

    def _part(self, request: Request, output: str) -> Answer | Response:
        page = self._pages.get(request.path_params["page"])
        if page is None:
            return self._not_found(request, None)
        with self._asked(request) as asked:
            part = asked.get("part", "0")
            number = int(part) if part.isdecimal() and len(part) < 8 else maxsize
            try:
                answers = self._answers(page, asked, output, slice(number, number + 1))
            except Wrong as error:
                return PlainTextResponse(f"{error}\n", 400)
            except KeyError:
                return PlainTextResponse(f"{NOT_KEPT}\n", 410)
            if not answers:
                return PlainTextResponse("the question is incomplete\n", 400)
            if answers[0].failed:
                return PlainTextResponse("".join(f"{line}\n" for line in answers[0].messages), 400)
            return answers[0]

    # --- what pages need

    def _asked(self, request: Request, fields: dict[str, list[str]] | None = None) -> Asked:
        fields = fields_in(request.url.query) if fields is None else fields
        session = session_of(request)
        page = self._pages.get(request.path_params.get("page", ""))
        if page is not None and page.prefers is not None and not any(fields.get("set", ())):
            states = self.sets.states.items()
            fields["set"] = [name for name, state in states if page.prefers(state)][:1]
        return Asked(fields, self.sets, self.settings, self.texts, self.advice, session)

    def _answers(
        self, page: Page, asked: Asked, output: str, part: slice = slice(None)
    ) -> Sequence[Answer]:
        if page.answers is not None:
            return page.answers(asked)[part]
        commands = page.commands(asked)[part]
        return [run(command, self.sets.reading_of, "--output", output) for command in commands]

    def _html(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        values.setdefault("waits", False)
        if "session" not in values:
            values["session"] = values["asked"].session
        return HTMLResponse(self._templates.get_template(template).render(**values), status)

    def _not_found(self, request: Request, _error: Exception | None) -> Response:
        session = session_of(request)
        path = request.url.path
        return self._html("missing.html", 404, session=session, page=None, asked=None, path=path)

    # --- forms

    def _read_again(self, _request: Request, fields: dict[str, list[str]]) -> Response:
        name = fields.get("set", [""])[-1]
        if name in self.sets.states:
            self.sets.read_again(name)
        return RedirectResponse("/", 303)

    def _change(self, request: Request, fields: dict[str, list[str]]) -> Response:
        with self._asked(request, fields) as asked:
            try:
                answer = apply(asked, self.sets.reading_of)
            except Wrong as error:
                return self._changed(asked, 403, str(error))
            target, session = target_of(asked), asked.session
            self.sets.read_again(str(target.address))
            words = [answer.command.public(text) for text in answer.messages]
            say(f"{session.user if session else ''} changed {target.name}: {'; '.join(words)}")
            return self._changed(asked, 200 if answer.status == 0 else 502, *words, answer=answer)

    def _accept(self, request: Request, fields: dict[str, list[str]]) -> Response:
        asked = self._asked(request, fields)
        try:
            person = require_change(self.settings, asked.session, asked.get("csrf"))
            if self.settings.findings is None:
                raise Wrong("the console was started without --findings")
            today = datetime.fromtimestamp(self.sets.now_s(), UTC).date()
            until = asked.get("until")
            number = accept(self.settings.findings, asked.get("grant"), until, person, today)
        except Wrong as error:
            return self._changed(asked, 403, str(error))
        text = f"{number} findings of {asked.get('grant')} are accepted until {until}"
        say(f"{person.user}: {text}")
        return self._changed(asked, 200, text)

    def _changed(
        self, asked: Asked, status: int, *texts: str, answer: Answer | None = None
    ) -> Response:
        values = {"texts": texts, "answer": answer, "done": status == 200}
        return self._html("changed.html", status, page=None, asked=asked, **values)

    def _keep_texts(self, request: Request, fields: dict[str, list[str]]) -> Response:
        name = request.path_params["page"]
        page = self._pages.get(name)
        if page is None:
            return PlainTextResponse("no such page\n", 404)
        short_fields = {
            field: [
                self.texts.keep(value, is_secret=page.is_secret) if field in page.long else value
                for value in values
            ]
            for field, values in fields.items()
        }
        return RedirectResponse(link(f"/{name}", short_fields), 303)

    def _posted(self, answer: Callable[..., Response]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            fields = await form_of(request, TEXT_BYTES_MAX * 3)
            if fields is None:
                return PlainTextResponse("the text is too long\n", 413)
            return await run_in_threadpool(answer, request, fields)

        return endpoint


def _failed(_request: Request, error: Exception) -> Response:
    say(text := f"there is no answer: {error}")
    return PlainTextResponse(f"{text}\n", 500)
