"""Check of a configuration without a start: authorizer, policies, listeners, store.

Checks also run if keys are wrong, as far as possible, so that all problems are reported at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.credentials import ITERATIONS_MIN
from doorkeeper.base.entry import Entry
from doorkeeper.server.app.authorizer import check_authorizer
from doorkeeper.server.app.clusters import configs_of
from doorkeeper.server.app.config_rules.checking import check
from doorkeeper.server.app.config_rules.rule import Product
from doorkeeper.server.app.errors import StartError, locate
from doorkeeper.server.app.listeners import ServerSecurity
from doorkeeper.server.app.policies import policies_of
from doorkeeper.server.config.audit_keys import AUDIT_DIR
from doorkeeper.server.config.keys import (
    AUTHORIZER_LOG_FILE,
    CLUSTERS_FILE,
    MAX_CONNECTIONS_PER_IP_OVERRIDES,
)
from doorkeeper.server.config.listeners import Listener
from doorkeeper.server.config.loading import ConfigFile, load
from doorkeeper.server.config.naming import LISTENER_PREFIX
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.config.store_keys import DATA_DIR
from doorkeeper.server.net.addresses import BindError, address_of
from doorkeeper.server.operations.logs.pipeline import command_logs
from doorkeeper.server.runtime.logger import NoLog
from doorkeeper.server.security.provider import Sources
from doorkeeper.server.state.storage.database import connect_readonly, sqlite_errors
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.reading import expected_store_of
from doorkeeper.server.state.store import StorageError


class Checked(NamedTuple):
    """A configuration with which the server can start, and warnings of one line each."""

    settings: Settings
    warnings: tuple[str, ...]


def check_configuration(file: Path | None, overrides: Sequence[str]) -> Checked:
    """Load a configuration, and check the parts that it names.

    Raises:
        StartError: with the problems of keys, authorizer, policies, listeners and store, and the
            warnings.
    """
    try:
        settings, source = load(file, overrides)
    except ConfigError as error:
        raise start_error_of(error) from error
    problems, log = problems_of(settings.static), WarningLog()
    for found in (
        check_listeners(settings, settings.listeners, log),
        check_operations_port(settings, log),
        check_shared_store(settings),
        check_paths(settings),
        check_hosts(settings),
    ):
        located = [locate(settings.entries, problem) for problem in found]
        problems += without_duplicates(located, problems)
    problems += check_clusters(settings, log)
    warnings = (*warnings_of(source), *log.lines)
    if problems:
        raise StartError(*problems, warnings=warnings)
    return Checked(settings, warnings)


def warnings_of(file: ConfigFile) -> list[str]:
    """Return what the rules of configurations find, a line each."""
    return [str(finding) for finding in check([file], product=Product.DOORKEEPER)]


# Prefixes of the keys on which all listeners, or those with authentication, depend.
_OF_ALL_DOORS: Final = (
    *("listeners", "listener.security.", "advertised.", "security.", "inter.broker."),
    *("principal.", "config.providers"),
)
_OF_LOGINS: Final = ("sasl.", "doorkeeper.sasl.", "connections.max.reauth.", "delegation.token.")


class WarningLog(NoLog):
    """A log that collects warnings for the output of the check."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, event: str, **fields: object) -> None:
        text = ", ".join(f"{name} {value}" for name, value in fields.items())
        self.lines.append(f"{event} ({text})" if text else event)

    error = exception = warning


def check_listeners(
    settings: Settings, listeners: Iterable[Listener], log: WarningLog
) -> list[str]:
    """Return the problems of mechanisms, TLS and principal builders; log warnings.

    Certificates, keytabs, rules and users files are read; callback handlers are constructed and
    closed. Nothing is started and no connection made.
    """
    sources = Sources(
        scram_credential=lambda _mechanism, _name: None,
        scram_iterations=lambda _mechanism: ITERATIONS_MIN,
        token_login=lambda _token_id: None,
        salt_key=bytes(32),
        now_ms=lambda: 0,
        logger=log,
    )

    async def check() -> list[str]:
        return await ServerSecurity(sources, log).check(listeners, settings.originals)

    return asyncio.run(check())


def check_operations_port(settings: Settings, log: WarningLog) -> Iterator[object]:
    """Yield the problem of the operations port's files, if it is enabled; log warnings."""
    if settings.http is not None:
        # What it needs of others is imported only where it is on.
        from doorkeeper.server.operations.http.port import HttpPort

        try:
            HttpPort(settings.http, log)
        except ValueError as error:
            yield error


def check_shared_store(settings: Settings) -> Iterator[object]:
    """Yield the problem of a shared store's driver and files; no connection is made."""
    if settings.store is not None:
        # The driver is needed only with a shared store.
        from doorkeeper.server.state.postgres.connecting import connector

        try:
            connector(settings.store)
        except StorageError as error:
            yield error


def check_paths(settings: Settings) -> Iterator[str]:
    """Yield the problems of the folders and of the log that a start creates; nothing is created.

    Permissions are not compared: the server may be another user.
    """
    # A shared store keeps its identity in the folder of data.
    for key in (DATA_DIR, AUDIT_DIR):
        folder = settings[key]
        if folder is not None and (text := _folder_problem(folder)):
            yield f"{key}: {text}"
    log = settings[AUTHORIZER_LOG_FILE]
    if log is not None and log.is_dir():
        yield f"{AUTHORIZER_LOG_FILE}: {log} is a folder; expected: a file"
    elif log is not None and not log.parent.is_dir():
        yield f"{AUTHORIZER_LOG_FILE}: there is no folder {log.parent}"


_WITHOUT_FOLDERS: Final = (Path("/proc"), Path("/sys"))
"""File systems of Linux in which nobody makes a folder."""


def _folder_problem(folder: Path) -> str:
    """Return why a folder cannot be made, or used; empty where nothing shows."""
    there = folder.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        return f"{there} is not a folder"
    if any(there.resolve().is_relative_to(path) for path in _WITHOUT_FOLDERS):
        return f"a folder cannot be made in {there}"
    return ""


def check_hosts(settings: Settings) -> Iterator[object]:
    """Yield the problem of a limit for a host that is unknown, with which no server starts."""
    for host in settings[MAX_CONNECTIONS_PER_IP_OVERRIDES]:
        try:
            address_of(host)
        except BindError as error:
            yield error


def check_clusters(settings: Settings, log: WarningLog) -> Sequence[str]:
    """Return the problems of the file of clusters; log warnings. No connection is made."""
    file = settings[CLUSTERS_FILE]
    try:
        clusters = [cluster for cluster in configs_of(file) if cluster.is_enforced]
        store_id = embedded_store_id(settings) if clusters else None
    except StartError as error:
        return error.problems
    except StorageError as error:
        return [str(error)]
    for cluster in clusters:
        subject = f"{file}: cluster {cluster.name}"
        if not cluster.store:
            log.lines.append(
                f"{subject} is not changed although its mode is enforce, because store: ID is"
                " missing (printed by doorkeeper clusters adopt)"
            )
        elif store_id is not None and cluster.store != store_id:
            log.lines.append(f"{subject}: {cluster.refusal_of(store_id)}")
    return ()


def embedded_store_id(settings: Settings) -> str | None:
    """Return the id of the store in the data folder; None for a shared store, and before a start.

    Raises:
        StorageError: there is something else, or it cannot be read.
    """
    path = settings[DATA_DIR] / DATABASE_NAME
    if settings.store is not None or not path.exists() or not path.stat().st_size:
        return None
    with sqlite_errors(path), closing(connect_readonly(path)) as connection:
        return expected_store_of(connection, path).store_id


def start_error_of(error: ConfigError) -> StartError:
    """Return the problems of keys, then those of the parts that the readable entries name.

    The warnings are those of the file, none if it cannot be read.
    """
    problems = list(map(str, error.problems))
    problems += without_duplicates(problems_of(error.entries), problems)
    if error.settings is not None:
        wrong = [problem.key for problem in error.problems]
        sound = [
            listener for listener in error.settings.listeners if not may_depend_on(listener, wrong)
        ]
        found = check_listeners(error.settings, sound, WarningLog())
        located = [locate(error.settings.entries, problem) for problem in found]
        problems += without_duplicates(located, problems)
    return StartError(*problems, warnings=() if error.source is None else warnings_of(error.source))


def may_depend_on(listener: Listener, wrong: Iterable[str]) -> bool:
    """Return whether a listener's security may depend on a wrong key.

    Problems of such a listener may be consequences of the wrong key. An empty key stands for an
    unreadable line, which may be any key.
    """
    about = (
        f"{LISTENER_PREFIX}{listener.name.lower()}.",
        *_OF_ALL_DOORS,
        *(["ssl."] if listener.encrypts else []),
        *(_OF_LOGINS if listener.authenticates else ()),
    )
    return any(not key or key.startswith(about) for key in wrong)


def without_duplicates(problems: Iterable[str], reported: Iterable[str]) -> list[str]:
    """Return the problems of keys that have no problem in ``reported``.

    A key's own rule and the authorizer may report the same fault.
    """
    places = {tuple(problem.split(": ")[:2]) for problem in reported}
    return [problem for problem in problems if tuple(problem.split(": ")[:2]) not in places]


def problems_of(entries: Iterable[Entry]) -> list[str]:
    """Return the problems of the authorizer and the policies that entries name.

    A plug-in is constructed, configured and closed on an event loop, as in a server.
    """
    entries = tuple(entries)
    problems: list[str] = []
    try:
        with command_logs():
            asyncio.run(check_authorizer(entries))
    except StartError as error:
        problems += error.problems
    try:
        policies_of(entries).close()
    except StartError as error:
        problems += error.problems
    return problems
