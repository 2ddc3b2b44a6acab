"""Changes: off without --allow-changes, for operators alone, shown before they are confirmed.

A change of ACLs is the plan of ``acls plan``: its page shows it, and a form has its digest and asks
for the number of changes. ``acls apply --plan`` makes these changes and no others, by the rules for
changes of live clusters. The client id says who it was, in the history and in audit logs.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Final

from doorkeeper.cli.acls.addresses import Reading
from doorkeeper.cli.files import write_whole
from doorkeeper.console.login.sessions import Session
from doorkeeper.console.page import Asked, Settings, Wrong
from doorkeeper.console.pages.change import commands, digest_of, target_of
from doorkeeper.console.rendering import signed
from doorkeeper.console.runs import Answer, Command, run

_WRITING: Final = threading.Lock()
_NAME: Final = re.compile(r"[^!-~]")


def require_change(settings: Settings, session: Session | None, csrf: str) -> Session:
    """Return the session of a form that may change something.

    Raises:
        Wrong: the console or the person may not, or the form is not of this session.
    """
    if not settings.allow_changes:
        raise Wrong("the console was started without --allow-changes")
    if session is None or not session.may_change:
        raise Wrong("only operators may change something")
    if not session.has_sent(csrf):
        raise Wrong("the form belongs to another session; reload the page")
    return session


def apply(asked: Asked, read: Callable[..., Reading]) -> Answer:
    """Make the changes of a plan that was shown, and return what the command says.

    Raises:
        Wrong: it is not the plan that was shown, was not confirmed, or has no such addresses.
    """
    session = require_change(asked.settings, asked.session, asked.get("csrf"))
    target = target_of(asked)
    plan = run(commands(asked)[0], read, "--output", "json")
    if plan.record is None:
        raise Wrong("; ".join(plan.messages))
    if digest_of(plan.record) != asked.get("digest"):
        raise Wrong("the plan has changed since it was shown; review it again")
    if asked.get("typed") != (number := str(len(signed(plan.record)))):
        raise Wrong(f"not confirmed; to confirm, type the number of changes: {number}")
    path = asked.written(json.dumps(plan.record, ensure_ascii=False), "changes.plan")
    words = ["acls", "apply", path, asked.address_word(target), "--plan", "--yes"]
    words += asked.login_words(target)
    author = f"console:{_NAME.sub('_', session.user)[:100]}"
    return run(Command(tuple(words)), read, author=author)


def accept(path: Path, grant: str, until: str, session: Session, today: date) -> int:
    """Note in the file of findings that those of a grant are accepted until a day; count them.

    Raises:
        Wrong: there is no such finding or day, or the file cannot be read or written.
    """
    try:
        day = date.fromisoformat(until)
    except ValueError:
        raise Wrong(f"found the day {until!r}; expected one such as 2026-12-31") from None
    if day < today:
        raise Wrong(f"found the day {until}; expected today or a later one")
    with _WRITING:
        try:
            document = json.loads(path.read_text("utf-8"))
            entries = document["findings"].items()
            findings = [finding for key, finding in entries if key.rpartition(":")[2] == grant]
            if not grant or not findings:
                raise Wrong(f"{path} has no finding about this grant; make the report first")
            for finding in findings:
                note = f"accepted until {until} by {session.user} on {today}"
                finding["accepted_until"] = until
                finding["note"] = "; ".join(filter(None, (finding.get("note"), note)))
            text = json.dumps(document, ensure_ascii=False, indent=1)
            write_whole(path, f"{text}\n".encode())
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Wrong(f"{path}: {error}") from error
    return len(findings)
