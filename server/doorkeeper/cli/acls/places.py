"""Where ACLs are, as one word each, for commands that name several places.

acls.yaml, -                       a file of any format, standard input
config:server.properties           the store of a server that is stopped
kafka://host:9092,other:9092       brokers, Kafka's or ours
controllers://host:9093            controllers
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from doorkeeper.acl.model import ANY_BINDING, exactly
from doorkeeper.cli.acls.sources import STDIN, SourceError, bindings_in, is_known
from doorkeeper.cli.completing import files, files_behind
from doorkeeper.cli.options import load_or_fail
from doorkeeper.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import click
    from click.shell_completion import CompletionItem

    from doorkeeper.acl.applying import Target
    from doorkeeper.acl.model import AclBinding
    from doorkeeper.client import AdminClient
    from doorkeeper.errors import ApiError
    from doorkeeper.offline.acls import OfflineAcls

T = TypeVar("T")

BROKERS, CONTROLLERS, STORE = "kafka://", "controllers://", "config:"


class Place(NamedTuple):
    """A place, and the file of client properties with which a running server is reached."""

    word: str
    command_config: Path | None = None

    @property
    def is_live(self) -> bool:
        """Say whether a server runs there."""
        return self.word.startswith((BROKERS, CONTROLLERS))

    @property
    def is_changed(self) -> bool:
        """Say whether ACLs can be changed there: a file is written by ``export``."""
        return self.is_live or self.word.startswith(STORE)


def place_of(word: str) -> str:
    """Return a place as a plan names it: the same for words that mean the same.

    Servers are sorted, and a file has its whole path.
    """
    for kind in (BROKERS, CONTROLLERS):
        if word.startswith(kind):
            servers = _addresses(word).split(",")
            return kind + ",".join(sorted(each.strip().lower() for each in servers))
    if word == STDIN:
        return word
    kind = STORE if word.startswith(STORE) else ""
    return f"{kind}{Path(word.removeprefix(kind)).resolve()}"


def _addresses(word: str) -> str:
    """Return ``host:port,...`` of the place of a server; a slash behind it is one of a URL."""
    kind = CONTROLLERS if word.startswith(CONTROLLERS) else BROKERS
    return word.removeprefix(kind).removesuffix("/")


def completed(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return what the word of a place may become: it names a file, of ACLs or of a server."""
    if incomplete.startswith(STORE):
        return files_behind(STORE, incomplete)
    return files(context, parameter, incomplete)


class _Live:
    """A running server, as a target."""

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    async def present(self) -> list[AclBinding]:
        found = await self._admin.describe_acls()
        known = [each for each in found if is_known(each)]
        if len(known) < len(found):
            # No set of ours could want them, so that every plan would remove them.
            say(
                f"{len(found) - len(known)} ACLs of the server are left out and left alone: it is"
                " newer, and knows types or operations that are unknown here"
            )
        return known

    async def add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        return [each.error for each in await self._admin.create_acls(bindings)]

    async def remove(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        results = await self._admin.delete_acls([exactly(each) for each in bindings])
        return [
            each.error or next((one.error for one in each.removed if one.error), None)
            for each in results
        ]


class _Stopped:
    """The store of a stopped server, as a target."""

    def __init__(self, acls: OfflineAcls) -> None:
        self._acls = acls

    async def present(self) -> list[AclBinding]:
        return self._acls.find([ANY_BINDING])

    async def add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        return [each.error for each in await self._acls.add(bindings)]

    async def remove(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        results = await self._acls.remove([exactly(each) for each in bindings])
        return [
            each.error or next((one.error for one in each.bindings if one.error), None)
            for each in results
        ]


class Changeable(NamedTuple):
    """What is there, and where to change it."""

    present: list[AclBinding]
    target: Target


def read(place: Place) -> list[AclBinding]:
    """Return the bindings of a place.

    Raises:
        SourceError: they cannot be read.

    """
    if not place.is_changed:
        if ":" in place.word and not os.path.exists(place.word):  # noqa: PTH110  any text is fine
            raise SourceError(
                f"{place.word}: there is no such file; a server is {BROKERS}HOST:PORT or"
                f" {CONTROLLERS}HOST:PORT, the store of a stopped one {STORE}FILE"
            )
        return bindings_in(place.word)
    found: list[AclBinding] = []

    async def work(there: Changeable) -> None:
        found.extend(there.present)

    at(place, work)
    return found


def at(place: Place, work: Callable[[Changeable], Awaitable[T]], *, make_store: bool = False) -> T:
    """Do something at a place where ACLs can be changed; return what comes of it.

    ``make_store`` says that the store of a server that never started is made.

    Raises:
        SourceError: the place cannot be reached, or fails under way.

    """
    if place.word.startswith(STORE):
        return _at_store(place, work, make_store=make_store)
    return _at_server(place, work)


def _at_server(place: Place, work: Callable[[Changeable], Awaitable[T]]) -> T:
    from doorkeeper.cli.live import opened  # noqa: PLC0415
    from doorkeeper.client import ClientError  # noqa: PLC0415  asyncio and ssl
    from doorkeeper.client.properties import CommandConfigError, client_config  # noqa: PLC0415
    from doorkeeper.config.errors import ConfigError  # noqa: PLC0415

    controllers = place.word.startswith(CONTROLLERS)
    addresses = _addresses(place.word)

    async def whole(admin: AdminClient) -> T:
        live = _Live(admin)
        return await work(Changeable(await live.present(), live))

    try:
        config = client_config(addresses, place.command_config, controllers=controllers)
        with opened(config) as (admin, runner):
            return runner.run(whole(admin))
    except ConfigError as error:
        raise SourceError(*map(str, error.problems)) from error
    except (ClientError, CommandConfigError, ValueError) as error:
        raise SourceError(f"{place.word}: {error}") from error


def _at_store(place: Place, work: Callable[[Changeable], Awaitable[T]], *, make_store: bool) -> T:
    settings = load_or_fail(Path(place.word.removeprefix(STORE)), ()).settings
    from doorkeeper.app.errors import StartError  # noqa: PLC0415  as the next, which is heavy
    from doorkeeper.errors import AuthorizerFault  # noqa: PLC0415
    from doorkeeper.offline.acls import run_offline  # noqa: PLC0415

    results: list[T] = []

    async def whole(acls: OfflineAcls) -> None:
        stopped = _Stopped(acls)
        results.append(await work(Changeable(await stopped.present(), stopped)))

    try:
        run_offline(settings, whole, make_store=make_store)
    except StartError as error:
        raise SourceError(*map(str, error.problems)) from error
    except AuthorizerFault as fault:
        raise SourceError(str(fault)) from fault
    return results[0]
