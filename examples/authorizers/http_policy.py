r"""An authorizer that asks a policy server over HTTP, and answers from what it has heard.

``authorize`` must not block, so it never asks by itself: it answers from a cache, which a thread
fills. With a question that is not in the cache it raises ``DecisionPending``: the request waits for
the thread, and is then handled again. After five seconds without an answer the client gets an error
that it retries. An answer is asked for again when half of its time is over.

Try it, in the project's folder; the second command is a policy server that allows alice and
ANONYMOUS everything:

    PYTHONPATH=examples/authorizers python -m doorkeeper serve \
        --override authorizer.class.name=http_policy.HttpPolicy \
        --override http.policy.url=http://localhost:8181/allowed

    python examples/authorizers/http_policy.py 8181

    http.policy.url          GET url?principal=&host=&operation=&type=&name= gives {"allowed": true}
    http.policy.age.ms       how long an answer counts (60000)
    http.policy.timeout.ms   how long to wait for the policy server (2000)
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import logging
import queue
import sys
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from doorkeeper.plugins import (
    AclCreateResult,
    AclDeleteResult,
    ApiError,
    AuthorizationResult,
    Authorizer,
    DecisionPending,
    ErrorCode,
    completed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from doorkeeper.plugins import (
        AclBinding,
        AclBindingFilter,
        Action,
        AuthorizableRequestContext,
        AuthorizerServerInfo,
        Endpoint,
        Eventually,
    )

log = logging.getLogger("http_policy")

ALLOWED, DENIED = AuthorizationResult.ALLOWED, AuthorizationResult.DENIED

QUESTIONS_MAX = 10_000
"""How many questions may wait for the thread; one more is not asked."""

PAUSE_S = 0.1
"""How long the thread pauses when the policy server gives no answer."""

ANSWERS_MAX = 100_000
"""How many answers are kept; with one more the cache begins anew."""


class Question(NamedTuple):
    """All that the policy server is told."""

    principal: str
    host: str
    operation: str
    type: str
    name: str


class Answer(NamedTuple):
    """What it said, and when (seconds of a steady clock)."""

    result: AuthorizationResult
    heard_s: float


class HttpPolicy(Authorizer):
    """Decides as a policy server has said."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Take the address; the policy server need not be there yet."""
        url = urlsplit(configs.get("http.policy.url", ""))
        if url.scheme != "http" or not url.hostname:
            raise ValueError("http.policy.url: found no address; allowed: http://host:port/path")
        self._host, self._port, self._path = url.hostname, url.port or 80, url.path or "/"
        self._age_s = int(configs.get("http.policy.age.ms", "60000")) / 1000
        self._timeout_s = int(configs.get("http.policy.timeout.ms", "2000")) / 1000
        self._answers: dict[Question, Answer] = {}
        self._asked: dict[Question, Future[None]] = {}
        self._questions: queue.Queue[Question | None] = queue.Queue(QUESTIONS_MAX)
        self._closing = False
        self._thread = threading.Thread(target=self._ask_all, name="http-policy")

    def start(
        self,
        server_info: AuthorizerServerInfo,
    ) -> Mapping[Endpoint, Eventually[None]]:
        """Begin to ask; no listener waits for it."""
        self._thread.start()
        return {}

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Answer from the cache; never from the network."""
        now_s = time.monotonic()
        answers: list[AuthorizationResult] = []
        waits: Future[None] | None = None
        for action in actions:
            question = _question(context, action)
            answer = self._answers.get(question)
            age_s = self._age_s if answer is None else now_s - answer.heard_s
            asked = self._asked_for(question) if age_s >= self._age_s / 2 else None
            if answer is not None and age_s < self._age_s:
                answers.append(answer.result)
            elif asked is not None:
                # The thread asks in order: when it has the last answer, it has all of them.
                waits = asked
        if waits is not None:
            raise DecisionPending(waits)
        return answers

    def _asked_for(self, question: Question) -> Future[None]:
        """Let the thread ask, if it does not yet; return the future of its answer."""
        future = self._asked.get(question)
        if future is None:
            future = Future()
            try:
                self._asked[question] = future
                self._questions.put_nowait(question)
            except queue.Full as error:
                del self._asked[question]
                future.set_exception(error)
                log.warning("too many questions wait for the policy server")
        return future

    # --- the thread

    def _ask_all(self) -> None:
        while (question := self._questions.get()) is not None and not self._closing:
            try:
                result = ALLOWED if self._ask(question) else DENIED
            except (OSError, http.client.HTTPException, ValueError) as error:
                # The old answer counts until its time is over; then requests wait for the next.
                log.warning("the policy server gives no answer: %s", error)
                self._ask_again(question, error)
                continue
            if len(self._answers) >= ANSWERS_MAX:
                self._answers = {}
            self._answers[question] = Answer(result, time.monotonic())
            self._asked.pop(question).set_result(None)

    def _ask_again(self, question: Question, error: Exception) -> None:
        """Put a question behind the others; with too many of them, its requests fail."""
        time.sleep(PAUSE_S)
        try:
            self._questions.put_nowait(question)
        except queue.Full:
            self._asked.pop(question).set_exception(error)

    def _ask(self, question: Question) -> bool:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        try:
            connection.request("GET", f"{self._path}?{urlencode(question._asdict())}")
            response = connection.getresponse()
            if response.status != http.HTTPStatus.OK:
                raise ValueError(f"status {response.status}")
            # Only the word true allows: a policy server that says anything else has not said yes.
            return json.load(response).get("allowed") is True
        finally:
            connection.close()

    # --- no ACLs here

    def acls(self, wanted: AclBindingFilter) -> Sequence[AclBinding]:
        """Have none: what is allowed is known to the policy server alone."""
        return ()

    def create_acls(
        self,
        context: AuthorizableRequestContext | None,
        bindings: Sequence[AclBinding],
    ) -> Sequence[Eventually[AclCreateResult]]:
        """Refuse."""
        return [completed(AclCreateResult(_refusal())) for _ in bindings]

    def delete_acls(
        self,
        context: AuthorizableRequestContext | None,
        filters: Sequence[AclBindingFilter],
    ) -> Sequence[Eventually[AclDeleteResult]]:
        """Refuse."""
        return [completed(AclDeleteResult(_refusal())) for _ in filters]

    def close(self) -> None:
        """End the thread; at worst it waits for the answer that it is asking for."""
        thread = getattr(self, "_thread", None)
        if thread is None or thread.ident is None:
            return
        self._closing = True
        with contextlib.suppress(queue.Full):  # the thread looks at _closing after each question
            self._questions.put_nowait(None)
        thread.join()
        for future in self._asked.values():
            future.cancel()


def _question(context: AuthorizableRequestContext, action: Action) -> Question:
    return Question(
        str(context.principal),
        context.client_address,
        action.operation.name,
        action.resource.resource_type.name,
        action.resource.name,
    )


def _refusal() -> ApiError:
    return ApiError(ErrorCode.POLICY_VIOLATION, "The policy server decides; there are no ACLs.")


class SamplePolicy(http.server.BaseHTTPRequestHandler):
    """A policy server of one rule."""

    def do_GET(self) -> None:
        """Allow alice and ANONYMOUS."""
        (principal,) = parse_qs(urlsplit(self.path).query)["principal"]
        allowed = principal in ("User:alice", "User:ANONYMOUS")
        body = json.dumps({"allowed": allowed}).encode()
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    http.server.HTTPServer(("localhost", int(sys.argv[1])), SamplePolicy).serve_forever()
