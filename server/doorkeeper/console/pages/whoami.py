"""The principal that a broker makes of a certificate, a token or a name, and who is nearly so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from doorkeeper.console.page import Asked, Page
from doorkeeper.console.runs import Answer, Command

CREDENTIALS: Final = {
    "cert": "a certificate (PEM)",
    "token": "a token (JWT)",
    "kerberos": "a Kerberos principal",
    "user": "a user name",
}
_FILES: Final = {"cert": "client.pem", "token": "token.jwt"}


def commands(asked: Asked) -> Sequence[Command]:
    """Return the command, once there are a credential and a configuration."""
    kind, config = asked.get("credential", "cert"), asked.get("config")
    if kind not in CREDENTIALS or not asked.get("text") or not config:
        return []
    value = asked.text("text").strip()
    word = asked.file("text", _FILES[kind]) if kind in _FILES else value
    state = asked.set_state()
    words = [] if state is None else asked.set_words(policy=False)
    words += [f"--config={asked.file('config', 'server.properties')}", f"--{kind}={word}"]
    return [asked.command("whoami", *words, *asked.option("--listener", "listener"))]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the texts of the form."""
    del answers
    return {"credentials": CREDENTIALS, "text": asked.text("text"), "config": asked.text("config")}


PAGE = Page(
    "whoami",
    "Which principal is it?",
    "The principal of a certificate, token or name, by which rule, its ACLs, and similar names.",
    commands,
    show,
    long=("text", "config"),
    is_secret=True,
)
