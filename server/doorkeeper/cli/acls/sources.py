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
from doorkeeper.cli.acls.texts import NOWHERE
from doorkeeper.cli.completing import files
from doorkeeper.cli.interrupts import interruptible
from doorkeeper.cli.options import JAAS_FILE_KEY, config_option, override_option, utf8
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.loading import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.config.settings import Settings
    from doorkeeper.offline.stored_acls import StoredAcls

Command = TypeVar("Command", bound="Callable[..., Any] | click.Command")

ASSUMED: Final = "assumed"
"""Where something was said that nobody said."""

STDIN: Final = "-"


class SourceError(Exception):
    """ACLs cannot be read; ``problems`` are lines that say why."""

    def __init__(self, *problems: str) -> None:
        """Take the lines."""
        super().__init__("; ".join(problems))
        self.problems = problems


class Source(ABC):
    """Where ACLs come from. ``words`` name it to a command that changes ACLs there."""

    description: str
    words: tuple[str, ...] = NOWHERE
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

    def __init__(self, name: str, *, bare_principals: bool = False) -> None:
        """Take the file's name, ``-`` for standard input, and how its principals may be."""
        self._name = name
        self._bare_principals = bare_principals
        self.description = "standard input" if name == STDIN else name

    async def read(self) -> list[AclBinding]:
        """Return its bindings, each once, in its order."""
        return bindings_in(self._name, bare_principals=self._bare_principals)


class StoreSource(Source):
    """The store of a server, by its configuration."""

    def __init__(self, file: Path | None, overrides: Sequence[str]) -> None:
        """Take the configuration's file, and overrides of it.

        Raises:
            SourceError: the configuration is wrong.

        """
        self._settings = _settings(file, overrides)
        shared = self._settings.store
        place = f"in {self._settings.data_dir}" if shared is None else shared.shown
        self.description = f"the store {place}"
        if file is None and not overrides:
            # Commands that change a store want to be told which one.
            overrides = (f"doorkeeper.data.dir={self._settings.data_dir}",)
        given = tuple(word for each in overrides for word in ("--override", each))
        self.words = given if file is None else ("--config", str(file), *given)

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
        from doorkeeper.errors import AuthorizerFault  # noqa: PLC0415
        from doorkeeper.offline.stored_acls import stored_acls  # noqa: PLC0415

        try:
            return stored_acls(self._settings)
        except StartError as error:
            raise SourceError(*map(str, error.problems)) from error
        except AuthorizerFault as fault:
            raise SourceError(str(fault)) from fault


class LiveSource(Source):
    """A server that runs, Kafka's or ours: its ACLs by DescribeAcls."""

    def __init__(
        self, addresses: str, command_config: Path | None, *, controllers: bool = False
    ) -> None:
        """Take addresses ``host:port``, separated by commas, and a Java client's properties."""
        self._addresses = addresses
        self._command_config = command_config
        self._controllers = controllers
        self.description = f"the {'controllers' if controllers else 'servers'} at {addresses}"
        option = "--bootstrap-controller" if controllers else "--bootstrap-server"
        self.words = (option, addresses)
        if command_config is not None:
            self.words += ("--command-config", str(command_config))

    async def read(self) -> list[AclBinding]:
        """Return the bindings that the server tells of."""
        from doorkeeper.client.admin import AdminClient  # noqa: PLC0415  for who asks a server
        from doorkeeper.client.errors import ClientError  # noqa: PLC0415  as above
        from doorkeeper.client.properties import client_config  # noqa: PLC0415  as above

        try:
            config = client_config(
                self._addresses, self._command_config, controllers=self._controllers
            )
            async with AdminClient(config) as client:
                found = await client.describe_acls()
        except ConfigError as error:
            raise SourceError(*map(str, error.problems)) from error
        except (ClientError, ValueError, OSError) as error:
            raise SourceError(str(error)) from error
        known = [each for each in found if is_known(each)]
        if len(known) < len(found):
            self.note = (
                f"{len(found) - len(known)} ACLs of the server are left out: it is newer, and knows"
                " types or operations that are unknown here"
            )
        return known


def is_known(binding: AclBinding) -> bool:
    """Say whether we know what a binding is about, and what it says."""
    (resource_type, _, pattern_type), entry = binding
    return 0 not in (resource_type, pattern_type, entry.operation, entry.permission_type)


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
        shell_complete=files,
        help="A set of ACLs: YAML, JSON, CSV, the output of kafka-acls.sh --list; - for stdin.",
    )
    server = click.option(
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help="A server that runs, Kafka's or ours, where the ACLs are asked for.",
    )
    controller = click.option(
        "--bootstrap-controller", metavar="HOST:PORT,...", help="The same by its controllers."
    )
    command_config = click.option(
        "--command-config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="How to reach that server: properties of a Java client.",
    )
    return file(config_option(override_option(server(controller(command_config(command))))))


def policy_options(command: Command) -> Command:
    """Give a command the options that say what decides beside ACLs; ``judging`` takes them."""
    users = click.option(
        "--super-users",
        metavar="USER;...",
        type=utf8,
        help=f"Who may everything, as in {SUPER_USERS}; else what --config says, else nobody.",
    )
    everyone = click.option(
        "--allow-everyone/--no-allow-everyone",
        default=None,
        help=f"Whether everybody may where no ACL covers a resource, as in {ALLOW_EVERYONE}; else"
        " what --config says, else nobody may.",
    )
    return users(everyone(command))


def source_of(options: dict[str, Any], *, bare_principals: bool = False) -> Source:
    """Return the source that options name, and take them out of the dictionary.

    ``bare_principals`` takes principals without a type from a file, see ``formats.names``.

    Raises:
        SourceError: a configuration is wrong.
        click.UsageError: they name several, or one in a wrong way.

    """
    names = ("acl_file", "bootstrap_server", "bootstrap_controller")
    given = {each: value for each in names if (value := options.pop(each)) is not None}
    command_config = options.pop("command_config")
    file, overrides = options.pop("file"), options.pop("overrides")
    if len(given) > 1:
        raise click.UsageError("give one of --file, --bootstrap-server, --bootstrap-controller")
    if command_config is not None and (not given or "acl_file" in given):
        raise click.UsageError("--command-config needs --bootstrap-server or -controller")
    if not given:
        return StoreSource(file, overrides)
    [(name, text)] = given.items()
    source: Source
    if name == "acl_file":
        source = FileSource(text, bare_principals=bare_principals)
    else:
        source = LiveSource(text, command_config, controllers=name == "bootstrap_controller")
    # The JAAS file may stand in the environment, for a server.
    if file is not None or any(not each.startswith(f"{JAAS_FILE_KEY}=") for each in overrides):
        source.policy = _policy_in(file, overrides)
    return source


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


def bindings_in(name: str, *, bare_principals: bool = False) -> list[AclBinding]:
    """Return the bindings of a file, each once, in its order; ``-`` is standard input.

    Raises:
        SourceError: it cannot be read, or is not what it should be.

    """
    try:
        with interruptible():  # pipes and terminals may take their time
            data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
        text = data.decode("utf-8")
        name_of_file = "" if name == STDIN else name
        found = read_text(text, name=name_of_file, bare_principals=bare_principals)
        return list(dict.fromkeys(found))
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{name}: byte {error.start} is not UTF-8") from error
    except FormatError as error:
        raise SourceError(f"{name}: {error}") from error


def _settings(file: Path | None, overrides: Sequence[str]) -> Settings:
    try:
        return load(file, overrides).settings
    except ConfigError as error:
        raise SourceError(*map(str, error.problems)) from error


def _policy_in(file: Path | None, overrides: Sequence[str]) -> Policy:
    settings = _settings(file, overrides)
    from doorkeeper.app.errors import StartError  # noqa: PLC0415  it is heavy
    from doorkeeper.offline.stored_acls import policy_of  # noqa: PLC0415

    try:
        return policy_of(settings)
    except StartError as error:
        raise SourceError(*map(str, error.problems)) from error
