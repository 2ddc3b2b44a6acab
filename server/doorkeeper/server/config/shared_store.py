"""Settings of a shared store: ``postgresql://user@host:5432,host2/database?sslmode=verify-full``.

The form is libpq's. The parameters after the question mark are a closed list: PostgreSQL would take
an unknown one as a setting of the session, and with a misspelt ``sslmod=verify-full`` the
connection would not be verified.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from msgspec import Struct

from doorkeeper.base.values import Password
from doorkeeper.server.config.keys import BROKER_ID, NODE_ID
from doorkeeper.server.config.raw_config import RawConfig
from doorkeeper.server.config.store_keys import (
    BROKER_HEARTBEAT_INTERVAL_MS,
    BROKER_SESSION_TIMEOUT_MS,
    STORE,
    STORE_CONNECT_TIMEOUT_MS,
    STORE_LEASE_TIMEOUT_MS,
    STORE_PASSWORD_FILE,
    STORE_STATEMENT_TIMEOUT_MS,
)

EMBEDDED: Final = "embedded"

_ALLOWED: Final = "embedded, or postgresql://user@host:port/database"
_SCHEMES: Final = ("postgresql", "postgres")
_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
# Modes that ignore a server's certificate.
_UNPROVED: Final = ("allow", "prefer")
_FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_PARAMETERS: Final = (
    "sslmode",
    *_FILES,
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "application_name",
    "host",
)
_HOST: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\[\]:/@\s]+)(?::([0-9]{1,5}))?")


class SharedStore(Struct, frozen=True, kw_only=True):
    """A PostgreSQL database and its credentials.

    ``hosts`` are in the order of connection attempts; ``urls`` has one URL for each, without the
    password. ``files`` are those of TLS by the name of their parameter. Times are in milliseconds.
    """

    hosts: tuple[str, ...]
    urls: tuple[str, ...]
    display_name: str
    """Hosts and database, as in errors."""
    password: Password | None
    password_file: Path | None
    files: Mapping[str, Path]
    connect_timeout_ms: int
    statement_timeout_ms: int
    lease_timeout_ms: int


def shared_store_of(raw: RawConfig) -> SharedStore | None:
    """Return the settings of the shared store; None for the embedded one. Record problems."""
    text = raw[STORE]
    if text == EMBEDDED:
        if raw[STORE_PASSWORD_FILE]:
            raw.problem(STORE_PASSWORD_FILE, "the embedded store has no password")
        return None
    try:
        store = _parse(text, raw)
    except ValueError as error:
        # The URL may contain a password, so it is not quoted.
        raw.problem(STORE, str(error))
        return None
    _check_files(raw, store)
    if raw.entry(NODE_ID) is None and raw[BROKER_ID] < 0:
        raw.problem(NODE_ID, f"each node of a shared {STORE} requires its own id")
    if raw[BROKER_SESSION_TIMEOUT_MS] <= raw[BROKER_HEARTBEAT_INTERVAL_MS]:
        text = f"allowed: more than {BROKER_HEARTBEAT_INTERVAL_MS}"
        raw.problem(BROKER_SESSION_TIMEOUT_MS, text)
    return store


def _parse(text: str, raw: RawConfig) -> SharedStore:
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in _SCHEMES:
        raise ValueError(f"allowed: {_ALLOWED}")
    try:
        parts = urlsplit(f"//{rest}")
        parameters = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True))
    except ValueError:
        if not rest.endswith("?") and "?" in rest:
            raise ValueError("allowed after ?: name=value, joined by &") from None
        raise ValueError(f"allowed: {_ALLOWED}") from None
    login, _, hosts = parts.netloc.rpartition("@")
    user, colon, password = (unquote(part) for part in login.partition(":"))
    database = unquote(parts.path.removeprefix("/"))
    if "@" in login or parts.fragment:
        raise ValueError("characters such as @ / # ? in a name or password must be written %XX")
    if not user or not database or "/" in database:
        raise ValueError(f"allowed: {_ALLOWED}; a user and a database must be named")
    _check_parameters(parameters)
    _check_hosts(hosts, parameters)
    password_file = raw[STORE_PASSWORD_FILE]
    # Two passwords are a mistake; silently preferring one would be hard to find.
    if colon and password_file is not None:
        raise ValueError("both the URL and doorkeeper.store.password.file have a password")
    query = f"?{urlencode(parameters, quote_via=quote, safe='/')}" if parameters else ""
    address = hosts or parameters["host"]
    who, ending = quote(user, safe=""), f"{quote(database, safe='')}{query}"
    each_host = tuple(hosts.split(","))
    return SharedStore(
        hosts=each_host,
        urls=tuple(f"postgresql://{who}@{host}/{ending}" for host in each_host),
        display_name=f"postgresql://{address}/{database}",
        password=Password(password) if colon else None,
        password_file=password_file,
        files={name: Path(parameters[name]) for name in _FILES if name in parameters},
        connect_timeout_ms=raw[STORE_CONNECT_TIMEOUT_MS],
        statement_timeout_ms=raw[STORE_STATEMENT_TIMEOUT_MS],
        lease_timeout_ms=raw[STORE_LEASE_TIMEOUT_MS],
    )


def _check_parameters(parameters: Mapping[str, str]) -> None:
    unknown = sorted(parameters.keys() - set(_PARAMETERS))
    if "password" in unknown:
        raise ValueError(
            "found ?password=; not allowed as a parameter; use doorkeeper.store.password.file"
        )
    if unknown:
        raise ValueError(f"found ?{unknown[0]}=; allowed: {', '.join(_PARAMETERS)}")
    mode = parameters.get("sslmode", "prefer")
    if mode not in _MODES:
        raise ValueError(f"found sslmode={mode}; allowed: {', '.join(_MODES)}")
    # libpq falls back to ~/.postgresql/root.crt, which differs between accounts.
    if mode.startswith("verify") and "sslrootcert" not in parameters:
        raise ValueError(f"sslmode={mode} requires sslrootcert=<file>")
    if ("sslcert" in parameters) != ("sslkey" in parameters):
        raise ValueError("sslcert and sslkey must be given together")
    if mode == "disable" and any(name in parameters for name in _FILES):
        raise ValueError("sslmode=disable cannot be combined with TLS files")
    proof = next((name for name in ("sslrootcert", "sslcrl") if name in parameters), None)
    if proof and mode in _UNPROVED:
        raise ValueError(
            f"sslmode={mode} does not use {proof}; allowed with it: verify-full, verify-ca, require"
        )


def _check_hosts(hosts: str, parameters: Mapping[str, str]) -> None:
    if not hosts:
        if not parameters.get("host", "").startswith("/"):
            raise ValueError(f"allowed: {_ALLOWED}; or ?host=/folder/of/the/socket without a host")
        return
    if "host" in parameters:
        raise ValueError("the host is given twice: in the URL and as ?host=")
    for host in hosts.split(","):
        match = _HOST.fullmatch(host)
        if match is None or not 0 < int(match.group(1) or 5432) < 65536:
            raise ValueError(f"found the host {host!r}; allowed: host:port, comma-separated")


def _check_files(raw: RawConfig, store: SharedStore) -> None:
    """Record unreadable files. Their content is checked when they are used."""
    for name, path in store.files.items():
        if not os.access(path, os.R_OK) or path.is_dir():
            raw.problem(STORE, f"{name}: {path}: no such file, or it is unreadable")
    file = store.password_file
    if file is None:
        return
    try:
        if not password_in(file):
            raw.problem(STORE_PASSWORD_FILE, f"{file}: the file is empty")
    except OSError as error:
        raw.problem(STORE_PASSWORD_FILE, f"{file}: cannot read: {error.strerror}")
    except UnicodeDecodeError:
        raw.problem(STORE_PASSWORD_FILE, f"{file}: the file is not UTF-8")


def password_in(file: Path) -> str:
    """Return the password in a file: its first line.

    Raises:
        OSError: it cannot be read.
        UnicodeDecodeError: it is not UTF-8.
    """
    return file.read_text(encoding="utf-8-sig").partition("\n")[0].removesuffix("\r")
