"""Where ACLs come from, for all commands that read them: a file, a store, or a running server.

    --file FILE                             any format of acl/formats; - for standard input
    --config FILE                           the store of that server; ./data without a file
    --bootstrap-server, -controller         a running server, Kafka's or ours

Beside a file or a running server, ``--config`` says only what decides beside the ACLs.
"""

from __future__ import annotations

import asyncio
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from doorkeeper.acl.decision import Policy
from doorkeeper.acl.formats.choosing import read as read_text
from doorkeeper.acl.formats.names import FormatError
from doorkeeper.authorizer.keys import ALLOW_EVERYONE, SUPER_USERS, read_policy
from doorkeeper.cli.options import config_option, load_or_fail, override_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.app.stored_acls import StoredAcls

Command = TypeVar("Command", bound="Callable[..., Any] | click.Command")

ASSUMED: Final = "assumed"
"""Where something was said that nobody said."""

STDIN: Final = "-"
SOMEWHERE: Final = "HOST:PORT"
"""What stands for a server in a command of which nobody said where it shall run."""


class SourceError(Exception):
    """ACLs cannot be read; ``problems`` are lines that say why."""

    def __init__(self, *problems: str) -> None:
        """Take the lines."""
        super().__init__("; ".join(problems))
        self.problems = problems


class Source(ABC):
    """Where ACLs come from. ``words`` name it to a command that changes ACLs there."""

    description: str
    words: tuple[str, ...] = ("--bootstrap-server", SOMEWHERE)
    policy: Policy | None = None
    """What decides beside the ACLs, where the source knows it; after ``read``."""
    note: str | None = None
    """What a reader of an answer must know of the source; after ``read``."""

    @abstractmethod
    async def read(self) -> list[AclBinding]:
        """Return all bindings.

        Raises:
            SourceError: they cannot be read.

        """


class FileSource(Source):
    """A set of ACLs as text."""

    def __init__(self, name: str) -> None:
        """Take the file's name, ``-`` for standard input."""
        self._name = name
        self.description = "standard input" if name == STDIN else name

    async def read(self) -> list[AclBinding]:
        """Return its bindings, each once, in its order."""
        return bindings_in(self._name)


class StoreSource(Source):
    """The store of a server, by its configuration."""

    def __init__(self, file: Path | None, overrides: Sequence[str]) -> None:
        """Take the configuration's file, and overrides of it."""
        self._settings = load_or_fail(file, overrides).settings
        self.description = f"the store in {self._settings.data_dir}"
        given = [word for each in overrides for word in ("--override", each)]
        self.words = ("--config", str(file), *given) if file is not None else tuple(given)

    async def read(self) -> list[AclBinding]:
        """Return the bindings that are durable."""
        found = await asyncio.to_thread(self._read)
        self.policy = found.policy
        if found.decides is not None:
            self.note = (
                f"{found.decides} decides there; the answer is the standard authorizer's for the"
                " same ACLs"
            )
        return found.bindings

    def _read(self) -> StoredAcls:
        from doorkeeper.app.errors import StartError  # noqa: PLC0415  as the next, which is heavy
        from doorkeeper.app.stored_acls import stored_acls  # noqa: PLC0415
        from doorkeeper.errors import AuthorizerFault  # noqa: PLC0415

        try:
            return stored_acls(self._settings)
        except StartError as error:
            raise SourceError(*map(str, error.problems)) from error
        except AuthorizerFault as fault:
            raise SourceError(str(fault)) from fault


class Judging(NamedTuple):
    """What decides beside the ACLs, and where each part of it was said."""

    policy: Policy
    super_users_from: str
    allow_everyone_from: str

    def lines(self) -> list[str]:
        """Return it in words, for people."""
        users = ", ".join(sorted(self.policy.super_users)) or "none"
        everyone = "everybody may" if self.policy.allow_everyone else "nobody may"
        return [
            f"super users: {users} ({self.super_users_from})",
            f"where no ACL covers a resource: {everyone} ({self.allow_everyone_from})",
        ]

    def record(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "superUsers": sorted(self.policy.super_users),
            "superUsersFrom": self.super_users_from,
            "allowEveryone": self.policy.allow_everyone,
            "allowEveryoneFrom": self.allow_everyone_from,
        }


def source_options(command: Command) -> Command:
    """Give a command the options that name a source; ``source_of`` takes their values."""
    file = click.option(
        "--file",
        "acl_file",
        metavar="FILE",
        help="A set of ACLs: YAML, JSON, CSV, the output of kafka-acls.sh --list; - for stdin.",
    )
    return file(config_option(override_option(command)))


def policy_options(command: Command) -> Command:
    """Give a command the options that say what decides beside ACLs; ``judging`` takes them."""
    users = click.option(
        "--super-users",
        metavar="USER;...",
        help=f"Who may everything, as in {SUPER_USERS}; else what --config says, else nobody.",
    )
    everyone = click.option(
        "--allow-everyone/--no-allow-everyone",
        default=None,
        help=f"Whether everybody may where no ACL covers a resource, as in {ALLOW_EVERYONE}; else"
        " what --config says, else nobody may.",
    )
    return users(everyone(command))


def source_of(options: dict[str, Any]) -> Source:
    """Return the source that options name, and take them out of the dictionary.

    Raises:
        click.UsageError: they name several, or one in a wrong way.

    """
    acl_file = options.pop("acl_file")
    file, overrides = options.pop("file"), options.pop("overrides")
    source: Source
    if acl_file is not None:
        source = FileSource(acl_file)
        if file is not None or overrides:
            source.policy = _policy_in(file, overrides)
        return source
    return StoreSource(file, overrides)


def judging(source: Source, super_users: str | None, *, allow_everyone: bool | None) -> Judging:
    """Return what decides beside the ACLs of a source that was read.

    Raises:
        click.UsageError: a super user has no colon.

    """
    known = source.policy
    policy = known or Policy()
    origin = ASSUMED if known is None else "as configured"
    users_from = everyone_from = origin
    if super_users is not None:
        try:
            users = read_policy({SUPER_USERS: super_users}).super_users
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        policy = Policy(super_users=users, allow_everyone=policy.allow_everyone)
        users_from = "--super-users"
    if allow_everyone is not None:
        policy = Policy(super_users=policy.super_users, allow_everyone=allow_everyone)
        everyone_from = "--allow-everyone" if allow_everyone else "--no-allow-everyone"
    return Judging(policy, users_from, everyone_from)


def bindings_in(name: str) -> list[AclBinding]:
    """Return the bindings of a file, each once, in its order; ``-`` is standard input.

    Raises:
        SourceError: it cannot be read, or is not what it should be.

    """
    try:
        data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
        text = data.decode("utf-8")
        return list(dict.fromkeys(read_text(text, name="" if name == STDIN else name)))
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{name}: byte {error.start} is not UTF-8") from error
    except FormatError as error:
        raise SourceError(f"{name}: {error}") from error


def _policy_in(file: Path | None, overrides: Sequence[str]) -> Policy:
    settings = load_or_fail(file, overrides).settings
    from doorkeeper.app.errors import StartError  # noqa: PLC0415  it is heavy
    from doorkeeper.app.stored_acls import policy_of  # noqa: PLC0415

    try:
        return policy_of(settings)
    except StartError as error:
        raise SourceError(*map(str, error.problems)) from error
