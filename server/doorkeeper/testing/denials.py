"""The refusals of a test server, each with the rule that decided.

A broker asks its authorizer some questions whose answer only filters a list, or chooses another
question; such a denial is no refusal and is not listed.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from doorkeeper.acls.explanation import explanation
from doorkeeper.testing.answers import reason_of
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from doorkeeper.acls.decision import Policy, Question
    from doorkeeper.acls.explanation import Explanation
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

KEPT: Final = 10_000
"""The refusals that are kept, the newest ones: a client may try again all day."""


class Denial(Struct, frozen=True):
    """One refusal. ``api`` is the request, such as ``Produce``; ``client_id`` the client's own.

    With ``on_any`` a permission on any resource of a type is missing, and the name is ``*``.
    """

    question: Question
    api: str
    client_id: str
    _state: tuple[Policy, Snapshot] | None
    on_any: bool = False

    @property
    def principal(self) -> str:
        return self.question.principal

    @property
    def operation(self) -> str:
        return self.question.operation.name

    @property
    def resource(self) -> str:
        """Return type and name, such as ``TOPIC orders``."""
        return f"{self.question.resource_type.name} {self.question.name}"

    @property
    def explanation(self) -> Explanation | None:
        """Return the rule that decided, by the ACLs of that moment; None with a plug-in."""
        if self._state is None:
            return None

        return explanation(*self._state, self.question)

    def __repr__(self) -> str:
        what = f"{self.operation} on {self.resource}"
        explained = self.explanation
        reason = "" if explained is None else f" because {reason_of(explained)}"
        if self.on_any:
            what = f"{self.operation} on any {self.question.resource_type.name}"
            reason = (
                " because no ACL allows it on any topic, nor IDEMPOTENT_WRITE on the cluster:"
                " producers are checked before they name their topic"
            )
        return f"<{self.principal} was denied {what} in {self.api}{reason}>"


class Denials:
    """The refusals of an authorizer; the server's thread records, tests read."""

    def __init__(self, state: Callable[[], tuple[Policy, Snapshot] | None]) -> None:
        self._state = state
        self._found: list[Denial] = []

    def refusals(self, principal: str | None = None) -> list[Denial]:
        """Return the refusals of a principal, or of all, in order."""
        return [denial for denial in tuple(self._found) if principal in (None, denial.principal)]

    def record(
        self,
        context: AuthorizableRequestContext,
        question: Question,
        allowed: bool,
        log_if_denied: bool | None,
    ) -> None:
        """Take an access; see ``doorkeeper.cli.learn.recorder.OnAccess``."""
        if allowed or log_if_denied is False:
            return
        on_any = log_if_denied is None
        state = None if on_any else self._state()
        api = API_NAMES[context.request_type]
        self._found.append(Denial(question, api, context.client_id, state, on_any))
        if len(self._found) > 2 * KEPT:
            self._found = self._found[-KEPT:]


@contextmanager
def expect(
    refusals: Callable[[], list[Denial]], matches: Callable[[Denial], bool], description: str
) -> Iterator[list[Denial]]:
    """Expect a matching refusal within the block; the list has them after it.

    An exception that leaves the block gets a note with the refusals.

    Raises:
        AssertionError: there was none; its text has the refusals that there were.
    """
    before = refusals()[-1:]
    hits: list[Denial] = []
    try:
        yield hits
    except BaseException as error:
        # The client's error seldom says which operation was refused.
        new = _since(before, refusals())
        error.add_note(f"denied in the block of expect_denied:{_text(new)}")
        raise
    new = _since(before, refusals())
    hits += [denial for denial in new if matches(denial)]
    if not hits:
        raise AssertionError(f"expected {description} to be denied; denied requests:{_text(new)}")


def _since(last: list[Denial], denials: list[Denial]) -> list[Denial]:
    """Return the denials after the last one of before: all, if that is no longer kept."""
    known = (at for at in range(len(denials), 0, -1) if last and denials[at - 1] is last[0])
    return denials[next(known, 0) :]


def _text(denials: list[Denial]) -> str:
    return "".join(f"\n  {denial!r}" for denial in denials) or " nothing"
