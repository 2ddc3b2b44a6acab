"""ADDRESS of commands about ACLs, and the options with which it is opened.

``add``, ``remove`` and ``list`` take the options of kafka-acls.sh in its place:

    --bootstrap-server HOST:PORT         kafka://HOST:PORT
    --bootstrap-controller HOST:PORT     controllers://HOST:PORT
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Struct

from doorkeeper.acls.bulk import snapshot_of
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.base.properties import KeptInput
from doorkeeper.cli.addresses import ADDRESS
from doorkeeper.cli.interrupts import interruptible
from doorkeeper.cli.options import PATH, command_config_option, has_overrides, override_option
from doorkeeper.cli.repositories.addresses import STDIN, STORES, Address, AddressKind
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.repository import AclContents
from doorkeeper.cli.terminal import retry_reporter, say
from doorkeeper.cli.vocabulary.options import named_option, with_options
from doorkeeper.cli.vocabulary.progress import Progress, progress
from doorkeeper.server.runtime.clock import utc_ms
from doorkeeper.server.state.history.moments import Moment, parse_moment, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from contextlib import AbstractContextManager

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.base.properties import PropertiesFile
    from doorkeeper.cli.repositories.repository import AclRepository

ADDRESSES: Final = """
\b
Addresses of ACLs:
  acls.yaml                  a file (YAML, JSON, CSV, output of kafka-acls.sh --list, files of
                             Strimzi, Terraform, rpk and others); - for stdin
  kafka://host:9092          a live cluster, Kafka or Doorkeeper; also host1:9092,host2:9092
  controllers://host:9093    a live cluster, through its controllers
  config:server.properties   the store of the server with this configuration
  store:/var/lib/doorkeeper  the embedded store in this folder
  postgresql://user@db/acls  the shared store in this database
  backup:acls.backup         a backup of an embedded store
With "--command-config -", the client properties are read from standard input.
"""
"""The part of help texts that explains addresses."""

NO_ADDRESS: Final = (
    "ADDRESS is missing; expected: a file, kafka://HOST:PORT, controllers://HOST:PORT, config:FILE,"
    " store:FOLDER, postgresql://USER@HOST/DATABASE or backup:FILE"
)
"""The sentence of all commands that are not told where the ACLs are."""


class Location(Struct, frozen=True):
    """An address, and the options with which its repository is opened.

    ``policy_config`` and ``policy_overrides`` are a configuration beside a file or a live cluster,
    which have no policy of their own. ``at`` is a moment in the past of a store; None is now.
    ``others`` are further files, whose ACLs belong to the same set. ``is_wanted`` says that the
    ACLs of files will be written somewhere, see ``FileRepository``.
    """

    address: Address
    command_config: PropertiesFile | None = None
    overrides: tuple[str, ...] = ()
    policy_config: Path | None = None
    policy_overrides: tuple[str, ...] = ()
    at: Moment | None = None
    others: tuple[Address, ...] = ()
    is_wanted: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words that name this location on a command line."""
        words = [str(self.address)]
        if self.command_config is not None:
            is_stdin = isinstance(self.command_config, KeptInput)
            words += ["--command-config", STDIN if is_stdin else str(self.command_config)]
        for override in self.overrides:
            words += ["--override", override]
        return tuple(words)

    @property
    def name(self) -> str:
        """Return the address as it was given; of several, the first and the number of others."""
        others = f" and {len(self.others)} more" if self.others else ""
        return f"{self.address}{others}"

    @property
    def is_past(self) -> bool:
        """Say whether the ACLs are those of the past: as of a moment, or in a backup."""
        return self.at is not None or self.address.kind is AddressKind.BACKUP

    def canonical(self) -> str:
        """Return a text that is equal for locations of one repository."""
        addresses = [address.canonical() for address in (self.address, *self.others)]
        return " ".join([*addresses, *sorted(self.overrides)])

    def repository(self) -> AclRepository:
        """Return the repository.

        Raises:
            RepositoryError: the configuration of a store is wrong.
        """
        if self.at is not None and not self.address.has_history:
            why = "a file has no history"
            if self.address.is_live:
                why = (
                    "the Kafka protocol cannot query past states; give the address of the"
                    " server's store (the server may be running)"
                )
            raise RepositoryError(f"{self.address}: {why}; --at requires {STORES}, or backup:FILE")
        # Each kind imports much that the others do not need.
        if self.address.is_live:
            from doorkeeper.cli.repositories.clusters import ClusterRepository

            return ClusterRepository(self.address, self.command_config, retry_reporter())
        if self.address.is_store:
            from doorkeeper.cli.repositories.stores import StoreRepository
            from doorkeeper.cli.stores import settings_at

            with _translate_errors():
                settings = settings_at(self.address, self.overrides)
            return StoreRepository(self.address, settings, self.at)
        if self.address.kind is AddressKind.BACKUP:
            from doorkeeper.cli.repositories.stores import BackupRepository

            return BackupRepository(self.address, self.at)
        from doorkeeper.cli.repositories.files import FileRepository

        return FileRepository(
            self.address, _load_bytes, others=self.others, is_wanted=self.is_wanted
        )

    def configured_policy(self) -> Policy | None:
        """Return the policy of the configuration beside the address; None without one.

        Raises:
            RepositoryError: the configuration is wrong.
        """
        if self.policy_config is None and not self.policy_overrides:
            return None
        from doorkeeper.cli.repositories.stores import policy_of
        from doorkeeper.server.config import loading

        with _translate_errors():
            return policy_of(loading.load(self.policy_config, self.policy_overrides).settings)


def _load_bytes(name: str) -> bytes:
    # A pipe or a terminal may never end, and the event loop would swallow the first Ctrl-C.
    with interruptible():
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()


@contextmanager
def _translate_errors() -> Iterator[None]:
    from doorkeeper.base.config_errors import ConfigError
    from doorkeeper.server.app.errors import StartError

    try:
        yield
    except (ConfigError, StartError) as error:
        raise RepositoryError(*map(str, error.problems)) from error


def moment(text: str) -> Moment:
    """Return the moment that a word is; the type of options.

    Raises:
        click.BadParameter: it is none.
    """
    return _moment_at(text, utc_ms())


def past_moment(text: str) -> Moment:
    """Return the moment that a word is, for a question about the state then.

    Raises:
        click.BadParameter: it is none, or in the future, whose state is not known.
    """
    now_ms = utc_ms()
    moment = _moment_at(text, now_ms)
    if moment.time_ms is not None and moment.time_ms > now_ms:
        raise click.BadParameter(
            f"found {text!r} ({moment}), which is in the future; allowed: times up to now,"
            f" {time_text(now_ms)}"
        )
    return moment


def _moment_at(text: str, now_ms: int) -> Moment:
    try:
        return parse_moment(text, now_ms)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


at_option = named_option("--at", type=past_moment, default_text="now")
"""The option that ``take_location`` reads too."""


def location_options(
    metavar: str = "[ADDRESS]",
    *,
    is_kafkas: bool = False,
    has_policy: bool = False,
    has_wanted: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds ADDRESS and its options; ``take_location`` reads them.

    With ``is_kafkas`` the options of kafka-acls.sh may name it, with ``has_policy`` --config is the
    configuration beside it. With ``has_wanted``, one or more addresses come before it, which
    ``take_wanted`` reads.
    """
    argument = click.argument("address", metavar=metavar, required=False, type=ADDRESS)
    if has_wanted:
        argument = click.argument(
            "addresses", metavar="WANTED... ADDRESS", required=True, nargs=-1, type=ADDRESS
        )
    options = [command_config_option, override_option]
    if is_kafkas:
        options = [
            named_option("--bootstrap-server"),
            named_option("--bootstrap-controller"),
            *options,
        ]
    if has_policy:
        options.append(named_option("--config", "-c", "file", type=PATH))
    return with_options(argument, *options)


def take_wanted(options: dict[str, Any]) -> tuple[Address, ...]:
    """Return the addresses that are wanted, and leave ADDRESS, the last one, in the dictionary.

    Raises:
        click.UsageError: there is one address alone, or several are wanted, and one is not a file.
    """
    *sources, options["address"] = options.pop("addresses")
    if not sources:
        raise click.UsageError(NO_ADDRESS)
    others = [source for source in sources if source.kind is not AddressKind.FILE]
    if others and len(sources) > 1:
        raise click.UsageError(
            f"{others[0]} is not a file or folder; with several WANTED, each must be one"
        )
    refuse_stdin_twice(*sources)
    return tuple(sources)


def refuse_stdin_twice(*addresses: Address) -> None:
    if sum(one.is_stdin for one in addresses) > 1:
        raise click.UsageError("standard input (-) can be given only once")


def take_location(
    options: dict[str, Any],
    *others: Address,
    has_policy: bool = False,
) -> Location:
    """Return the location that options name, and take them out of the dictionary.

    ``others`` are further addresses that --command-config may be for. With ``has_policy``, a
    configuration beside a file or a live cluster is the source of the policy.

    Raises:
        click.UsageError: they name several addresses, or none.
    """
    at: Moment | None = options.pop("at", None)
    chosen = _take_address(options)
    command_config: PropertiesFile | None = options.pop("command_config")
    file: Path | None = options.pop("file", None)
    overrides: tuple[str, ...] = options.pop("overrides")
    check_command_config(command_config, (chosen, *others))
    # A configuration is no property of a client: for a live cluster it would be ignored.
    if not chosen.is_store and (has_overrides(overrides) or file is not None):
        if has_policy:
            return Location(chosen, command_config, (), file, overrides, at)
        raise click.UsageError(
            f"--override applies to stores, and {chosen} is not one. For a live cluster, give"
            " client properties with --command-config"
        )
    if file is not None:
        raise click.UsageError(f"{chosen} and --config both name a store; give one of them")
    return Location(chosen, command_config, overrides if chosen.is_store else (), at=at)


def _take_address(options: dict[str, Any]) -> Address:
    argument: Address | None = options.pop("address")
    addresses = [] if argument is None else [argument]
    for name, kind in (
        ("bootstrap_server", AddressKind.BROKERS),
        ("bootstrap_controller", AddressKind.CONTROLLERS),
    ):
        text: str | None = options.pop(name, None)
        if text is not None:
            addresses.append(Address(kind, text))
    if not addresses:
        raise click.UsageError(NO_ADDRESS)
    # Two addresses are refused even if they are equal: one of them is a slip.
    if len(addresses) > 1:
        raise click.UsageError(
            "found several of ADDRESS, --bootstrap-server and --bootstrap-controller; expected: one"
        )
    return addresses[0]


def check_command_config(
    command_config: PropertiesFile | None, addresses: Sequence[Address]
) -> None:
    """Refuse --command-config where none of the addresses needs it, or both are standard input."""
    if isinstance(command_config, KeptInput) and any(one.is_stdin for one in addresses):
        raise click.UsageError(
            "standard input (-) can be given only once: ACLs or --command-config"
        )
    if command_config is not None and not any(address.is_live for address in addresses):
        raise click.UsageError("--command-config requires a live cluster: kafka://HOST:PORT")


def refuse_file(target: Address) -> None:
    """Raise a UsageError if an address is that of a file: files are read only."""
    if target.kind is AddressKind.BACKUP:
        raise click.UsageError(
            f"{target} is a backup, which is read-only; restore it with doorkeeper store restore"
        )
    if not target.is_live and not target.is_store:
        raise click.UsageError(
            f"{target} is a file, which is read-only; expected: kafka://HOST:PORT,"
            f" controllers://HOST:PORT, {STORES}"
        )


# --- reading: at the address, or what the caller has read already

READER: Final = "doorkeeper.cli.reader"
"""The key of a function from a location to a reading in the ``meta`` of click's context."""


class Reading(Struct, frozen=True, dict=True):
    """The contents of a repository, and the repository in words; the index is built when used.

    A process that asks many questions, as the console does, reads a set once and keeps its index.
    """

    contents: AclContents
    description: str

    @cached_property
    def snapshot(self) -> Snapshot:
        """Return the index of the ACLs, with empty ids."""
        return snapshot_of(self.contents.bindings)


def read_at(location: Location) -> Reading:
    """Return the ACLs at a location.

    Raises:
        RepositoryError: they cannot be read.
    """
    context = click.get_current_context(silent=True)
    read: Callable[[Location], Reading] | None = None
    if context is not None:
        read = context.meta.get(READER)
    return (read or read_anew)(location)


def read_anew(location: Location) -> Reading:
    """Return the ACLs that are at a location now.

    Raises:
        RepositoryError: they cannot be read.
    """
    repository = location.repository()
    with reading_progress(location):
        return Reading(asyncio.run(repository.read()), repository.description)


def reading_progress(location: Location) -> AbstractContextManager[Progress]:
    """Report that a location is read; not while somebody types its text."""
    return progress(f"reading {location.name}", quiet=location.address.is_stdin)


def read_contents(location: Location) -> AclContents:
    """Return the ACLs at a location; what they lack is reported on stderr.

    Raises:
        RepositoryError: they cannot be read.
    """
    contents = read_at(location).contents
    # A policy that a history lacks is of no account here.
    if contents.note is not None and location.address.kind is AddressKind.FILE:
        say(f"note: {contents.note}")
    report_unknown(contents)
    return contents


def report_unknown(contents: AclContents) -> None:
    """Say on stderr how many ACLs are unknown here and left out, and how many are in doubt."""
    if contents.unknown:
        say(unknown_note(contents.unknown))
    report_doubt(contents.doubtful)


def report_doubt(doubtful: Collection[AclBinding]) -> None:
    """Say on stderr how many ACLs only some brokers list."""
    if doubtful:
        say(f"note: {doubt_note(len(doubtful))}")


def doubt_note(count: int) -> str:
    """Return a sentence on ACLs that only some brokers list."""
    return f"some brokers list {count} ACLs that others do not; a broker may lag"


def unknown_note(count: int) -> str:
    """Return a sentence on ACLs with codes that are unknown here."""
    return (
        f"{count} ACLs of the cluster are omitted and left unchanged: they have resource types or"
        " operations that this version does not support"
    )
