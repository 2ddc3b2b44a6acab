"""A page of the console: a question, its commands, and what its template shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec import Struct

from doorkeeper.acls.formats.commands import kafkas_word
from doorkeeper.acls.formats.names import resource_type
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper.console.advice import Advice
from doorkeeper.console.login.sessions import Session
from doorkeeper.console.runs import Answer, Command
from doorkeeper.console.sets import Sets, SetState
from doorkeeper.console.texts import Texts

RESOURCES: Final = {
    "topic": "topic",
    "group": "consumer group",
    "transactional-id": "transactional id",
    "cluster": "cluster",
    "delegation-token": "delegation token",
    "user-principal": "user",
}
"""The options that name a resource, with their words."""

TYPE_OF: Final = {kind: resource_type(kind.removesuffix("-principal")) for kind in RESOURCES}

OPERATIONS: Final = tuple(
    kafkas_word(member) for member in AclOperation if member > AclOperation.ALL
)

TYPES: Final = tuple(
    kind.name.lower().replace("_", "-") for kind in ResourceType if kind > ResourceType.ANY
)


class Settings(Struct, frozen=True):
    """The options of ``doorkeeper console`` that commands take too."""

    policy_words: tuple[str, ...] = ()
    """--super-user, --allow-everyone, --config, --kafka."""
    command_config: Path | None = None
    rules: Path | None = None
    """The file of --assert."""
    advice: Path | None = None
    """The folder of tables that the pipeline's report has written."""
    findings: Path | None = None
    allow_changes: bool = False


class Wrong(Exception):
    """A question that cannot be asked, with the reason."""


class Asked(ExitStack):
    """The question in a request: fields, and the set; as a context it removes its files."""

    def __init__(
        self,
        fields: Mapping[str, Sequence[str]],
        sets: Sets,
        settings: Settings,
        texts: Texts,
        advice: Advice | None = None,
        session: Session | None = None,
    ) -> None:
        """Take the fields of the query with their values."""
        super().__init__()
        self.fields = fields
        self.sets = sets
        self.settings = settings
        self.texts = texts
        self.advice = advice
        self.session = session
        self._replaced: list[tuple[str, str]] = []

    def get(self, name: str, default: str = "") -> str:
        """Return the value of a field, stripped of blanks at its ends."""
        values = self.fields.get(name)
        return values[-1].strip() if values else default

    def without(self, names: Sequence[str]) -> Asked:
        """Return the question without some fields."""
        rest = {name: values for name, values in self.fields.items() if name not in names}
        return Asked(rest, self.sets, self.settings, self.texts, self.advice, self.session)

    @property
    def number(self) -> int:
        """Return the number of the page of a long list, from 1."""
        text = self.get("page")
        return max(1, int(text)) if text.isdecimal() and len(text) < 8 else 1

    def set_state(self, field: str = "set") -> SetState | None:
        """Return the set that a field names, or the first one; None if there are no sets.

        Raises:
            Wrong: the command line has no such address.
        """
        names = list(self.sets.states)
        if not names:
            return None
        name = self.get(field) or names[0]
        if name not in self.sets.states:
            raise Wrong(f"found the address {name!r}; the command line has: {', '.join(names)}")
        return self.sets.fresh(name)

    def set_words(self, *, policy: bool = True) -> list[str]:
        """Return the words of a command that name the set, with the options of the policy."""
        state = self.set_state()
        if state is None:
            raise Wrong("the console was started without an address of ACLs")
        words = [self.address_word(state), *self.login_words(state)]
        options = self.settings.policy_words if policy else ()
        # A store has a configuration of its own.
        is_beside = not state.address.is_store
        return words + [word for word in options if is_beside or not word.startswith("--config=")]

    def login_words(self, *states: SetState) -> list[str]:
        """Return the option of the login, if one of the addresses is a live cluster."""
        config = self.settings.command_config
        is_live = any(state.address.is_live for state in states)
        return [f"--command-config={config}"] if is_live and config is not None else []

    def address_word(self, state: SetState) -> str:
        """Return an address; its password, if it has one, is not shown."""
        word = f"{state.address.kind.value}{state.address.target}"
        if word != state.name:
            self._replaced.append((word, state.name))
        return word

    def resource_words(self) -> list[str]:
        """Return the option of the resource; none if its name is empty.

        Raises:
            Wrong: there is no such type.
        """
        kind = self.get("kind", "topic")
        if kind not in RESOURCES:
            raise Wrong(f"found the resource type {kind!r}; allowed: {', '.join(RESOURCES)}")
        if kind == "cluster":
            return ["--cluster"]
        name = self.get("name")
        if self.is_prefixed:
            name = name.removesuffix("*")
        return [f"--{kind}={name}"] if name else []

    @property
    def is_prefixed(self) -> bool:
        """Say whether the name is the beginning of names: chosen so, or written ``pii-*``."""
        return self.get("pattern") == "prefixed" or self.get("name")[1:].endswith("*")

    def option(self, option: str, field: str) -> list[str]:
        """Return an option with the value of a field; nothing for an empty one."""
        value = self.get(field)
        return [f"{option}={value}"] if value else []

    def text(self, field: str) -> str:
        """Return the text of a field; a long or secret one is kept in memory."""
        return self.texts.text(self.get(field))

    def file(self, field: str, name: str) -> str:
        """Return the path of a file with the text of a field; command lines show ``name``."""
        path = self.written(self.text(field), name)
        self._replaced.append((path, name))
        return path

    def written(self, text: str, name: str) -> str:
        """Return the path of a new file with a text, in a folder that only this user reads.

        Raises:
            OSError: the disk is full, or the folder of temporary files is not writable.
        """
        folder = TemporaryDirectory(prefix="doorkeeper-console-", ignore_cleanup_errors=True)
        path = Path(self.enter_context(folder), name)
        path.write_bytes(text.encode("utf-8", "replace"))
        return str(path)

    def command(self, *words: str) -> Command:
        """Return a command of words."""
        return Command(words, tuple(self._replaced))


class Page(Struct, frozen=True):
    """A question as a page.

    ``commands`` returns the commands of the question, none while it is incomplete. ``show``
    returns what the template needs besides the answers. ``long`` are the fields of the form that
    hold long texts, ``secret`` says that they may hold secrets.
    """

    name: str
    title: str
    """The question in the list of pages: ``Who can use it?``."""
    summary: str
    commands: Callable[[Asked], Sequence[Command]] = lambda _asked: ()
    show: Callable[[Asked, Sequence[Answer]], dict[str, Any]] = lambda _asked, _answers: {}
    answers: Callable[[Asked], Sequence[Answer]] | None = None
    """The answers, where they are not those of commands."""
    needs_set: bool = True
    prefers: Callable[[SetState], bool] | None = None
    """Says of which sets the first one is asked about unless another is named."""
    long: tuple[str, ...] = ()
    is_secret: bool = False
    markdown: str = ""
    """The option of the Markdown that a command writes itself; without it its text is taken."""
