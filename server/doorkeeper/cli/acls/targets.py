"""Whose ACLs a command lists and changes: those of servers that run, or of a stopped one's store.

What cannot be done ends the process: a line on stderr and status 1. What a running server answers
is told as kafka-acls.sh tells it, with the names of Java's exceptions, without their traces.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import click

from doorkeeper.cli.acls.options import FAILED
from doorkeeper.cli.failures import fail
from doorkeeper.cli.options import JAAS_FILE_KEY, config_option, load_or_fail, override_option

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.client.admin import AdminClient
    from doorkeeper.client.config import ClientConfig
    from doorkeeper.client.errors import ClientError
    from doorkeeper.errors import ApiError
    from doorkeeper.offline.acls import OfflineAcls


class Acls(Protocol):
    """The ACLs of somebody."""

    async def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        """Return what any of the filters matches, sorted, each once."""
        ...

    async def add(self, bindings: Sequence[AclBinding]) -> None:
        """Create bindings."""
        ...

    async def remove(self, filters: Sequence[AclBindingFilter]) -> None:
        """Delete what filters match."""
        ...


class Target(NamedTuple):
    """The options that say whose: addresses, or a configuration file."""

    file: Path | None
    overrides: tuple[str, ...]
    bootstrap_server: str | None
    bootstrap_controller: str | None
    command_config: Path | None


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say whose ACLs; ``target_of`` takes their values."""
    server = click.option(
        "--bootstrap-server", metavar="HOST:PORT,...", help="Brokers, or Doorkeepers, that run."
    )
    controller = click.option(
        "--bootstrap-controller", metavar="HOST:PORT,...", help="Controllers that run."
    )
    properties = click.option(
        "--command-config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Properties of a Java client: security.protocol, sasl.mechanism, ...",
    )
    return server(controller(properties(config_option(override_option(command)))))


def target_of(options: dict[str, Any]) -> Target:
    """Return whose ACLs options name, and take them out of the dictionary.

    Raises:
        ValueError: they name none or two; with the tool's text.
        click.UsageError: they name a running server and a stopped one.

    """
    target = Target(**{name: options.pop(name) for name in Target._fields})
    live = target.bootstrap_server is not None or target.bootstrap_controller is not None
    # The JAAS file may stand in the environment, for a server.
    own = [each for each in target.overrides if not each.startswith(f"{JAAS_FILE_KEY}=")]
    if target.bootstrap_server is not None and target.bootstrap_controller is not None:
        raise ValueError(
            "Only one of --bootstrap-server or --bootstrap-controller must be specified"
        )
    if live and (target.file is not None or own):
        raise click.UsageError("--config is for a stopped server, --command-config for a running")
    if not live and target.file is None and not target.overrides:
        raise ValueError("One of --bootstrap-server or --bootstrap-controller must be specified")
    if not live and target.command_config is not None:
        raise click.UsageError("--command-config needs --bootstrap-server")
    return target


def run(
    target: Target, work: Callable[[Acls], Awaitable[None]], *, make_store: bool = False
) -> None:
    """Do something with the ACLs; ``make_store`` says that a server need not have started yet."""
    if target.bootstrap_server is None and target.bootstrap_controller is None:
        _run_offline(target, work, make_store=make_store)
        return
    from doorkeeper.cli.live import opened  # noqa: PLC0415  it is heavy
    from doorkeeper.client.config import ClientConfig  # noqa: PLC0415  as above
    from doorkeeper.client.errors import ClientError  # noqa: PLC0415  as above

    bootstrap = target.bootstrap_server or target.bootstrap_controller or ""
    controllers = target.bootstrap_server is None
    try:
        if target.command_config is None:
            config = ClientConfig(bootstrap=bootstrap, controllers=controllers)
        else:
            config = _config(target.command_config, bootstrap, controllers=controllers)
        with opened(config) as (client, runner):
            runner.run(_done(work, LiveAcls(client)))
    except ClientError as error:
        fail([f"{FAILED}{java_text(error)}"])
    except ValueError as error:
        fail([f"{FAILED}{error}"])


async def _done(work: Callable[[Acls], Awaitable[None]], acls: Acls) -> None:
    await work(acls)


def _config(file: Path, bootstrap: str, *, controllers: bool) -> ClientConfig:
    from doorkeeper.client.properties import client_config  # noqa: PLC0415  with a file only
    from doorkeeper.config.errors import ConfigError  # noqa: PLC0415  as above

    try:
        return client_config(bootstrap, file, controllers=controllers)
    except ConfigError as error:
        fail(error.problems)


class LiveAcls:
    """The ACLs of servers that run."""

    def __init__(self, client: AdminClient) -> None:
        """Take a client."""
        self._client = client

    async def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        """Return what any of the filters matches, sorted, each once.

        Raises:
            ClientError: the server refuses, or there is no answer.

        """
        found: dict[AclBinding, None] = {}
        for wanted in filters:
            found.update(dict.fromkeys(await self._client.describe_acls(wanted)))
        return list(found) if len(filters) == 1 else sorted(found)

    async def add(self, bindings: Sequence[AclBinding]) -> None:
        """Create bindings; the first that is refused ends the process.

        Raises:
            ClientError: nobody knows what became of them.

        """
        _fail_at_first(result.error for result in await self._client.create_acls(bindings))

    async def remove(self, filters: Sequence[AclBindingFilter]) -> None:
        """Delete what filters match; the first that is refused ends the process.

        Raises:
            ClientError: nobody knows what became of them.

        """
        for result in await self._client.delete_acls(filters):
            _fail_at_first((result.error, *(each.error for each in result.removed)))


def _fail_at_first(errors: Iterable[ApiError | None]) -> None:
    for error in errors:
        if error is not None:
            fail([f"{FAILED}{_java_name(error.code)}: {error}"])


def java_text(error: ClientError) -> str:
    """Return what Java's client says, where it is known: the exception and its text."""
    code, text = getattr(error, "code", None), getattr(error, "message", None)
    return str(error) if code is None else f"{_java_name(code)}: {text}"


_PACKAGE: Final = "org.apache.kafka.common.errors"
_CLASSES: Final = {
    -1: "UnknownServerException",
    7: "TimeoutException",
    31: "ClusterAuthorizationException",
    33: "UnsupportedSaslMechanismException",
    35: "UnsupportedVersionException",
    41: "NotControllerException",
    42: "InvalidRequestException",
    44: "PolicyViolationException",
    54: "SecurityDisabledException",
    58: "SaslAuthenticationException",
    114: "MismatchedEndpointTypeException",
    115: "UnsupportedEndpointTypeException",
}


def _java_name(code: int) -> str:
    return f"{_PACKAGE}.{_CLASSES.get(code, 'ApiException')}"


class StoredAcls:
    """The ACLs of a stopped server."""

    def __init__(self, acls: OfflineAcls) -> None:
        """Take what the authorizer has."""
        self._acls = acls

    async def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        """Return what any of the filters matches, sorted, each once."""
        return self._acls.find(filters)

    async def add(self, bindings: Sequence[AclBinding]) -> None:
        """Create bindings; what is refused ends the process."""
        _fail_where(each.error for each in await self._acls.add(bindings))

    async def remove(self, filters: Sequence[AclBindingFilter]) -> None:
        """Delete what filters match; what is refused ends the process."""
        results = await self._acls.remove(filters)
        bindings = [binding.error for each in results for binding in each.bindings]
        _fail_where([*(each.error for each in results), *bindings])


def _fail_where(errors: Iterable[ApiError | None]) -> None:
    texts = dict.fromkeys(f"{e.code.name}: {e}" for e in errors if e is not None)
    if texts:
        fail(texts)


def _run_offline(
    target: Target, work: Callable[[Acls], Awaitable[None]], *, make_store: bool
) -> None:
    settings = load_or_fail(target.file, target.overrides).settings
    from doorkeeper.app.errors import StartError  # noqa: PLC0415  as the next, which is heavy
    from doorkeeper.errors import AuthorizerFault  # noqa: PLC0415
    from doorkeeper.offline.acls import run_offline  # noqa: PLC0415

    async def adapted(acls: OfflineAcls) -> None:
        await work(StoredAcls(acls))

    try:
        run_offline(settings, adapted, make_store=make_store)
    except StartError as error:
        fail(error.problems)
    except AuthorizerFault as fault:
        fail([fault])
