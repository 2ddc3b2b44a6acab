"""Where the console is served: on this machine alone, or to others with TLS and a login."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click
from msgspec import Struct

from doorkeeper.cli.terminal import say
from doorkeeper.console.guard import hosts_at
from doorkeeper.console.login.oidc import Claim, Client, is_safe_url
from doorkeeper.console.login.sessions import Role
from doorkeeper.console.login.users import UsersLogin
from doorkeeper.server.config.http import is_loopback
from doorkeeper.server.runtime.logger import NO_FIELDS, LeveledLogger
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from doorkeeper.server.security.tls.https import https_context

CALLBACK: Final = "/login/callback"

_OTHERS: Final = "this address is reachable from other machines and requires"


class Exposure(Struct, frozen=True):
    """The address and its names, TLS, and the ways to log in; without one all are operators."""

    host: str
    port: int
    url: str
    hosts: frozenset[str]
    tls: ReloadedFiles[ssl.SSLContext] | None = None
    users: UsersLogin | None = None
    oidc: Client | None = None

    @property
    def scheme(self) -> str:
        """Return the scheme of its addresses."""
        return "http" if self.tls is None else "https"

    @property
    def has_login(self) -> bool:
        """Say whether people log in."""
        return self.users is not None or self.oidc is not None


class _Said(LeveledLogger):
    def write(self, level: int, event: str, fields: Mapping[str, object] = NO_FIELDS, /) -> None:
        say("; ".join([event, *(f"{name}: {value}" for name, value in fields.items())]))


def exposure_of(options: Mapping[str, Any]) -> Exposure:
    """Return where the options of ``doorkeeper console`` say that it is served.

    Raises:
        click.UsageError: others would reach it without TLS or without a login; options that
            contradict each other.
        ValueError, OSError: a file cannot be read.
    """
    host, port = options["bind"], options["port"]
    tls = _tls_of(options["tls_certificate"], options["tls_key"])
    scheme = "http" if tls is None else "https"
    url = _url_of(options["url"], scheme, host, port)
    users, oidc = _users_of(options), _oidc_of(options, url)
    if not is_loopback(host):
        if tls is None:
            raise click.UsageError(f"--bind {host}: {_OTHERS} --tls-certificate and --tls-key")
        if users is None and oidc is None:
            raise click.UsageError(
                f"--bind {host}: {_OTHERS} a login: --oidc-issuer, or --viewers and --operators"
            )
        if options["url"] is None:
            raise click.UsageError(f"--bind {host}: {_OTHERS} --url, the address that browsers use")
    hosts = hosts_at(port, scheme) if is_loopback(host) else frozenset()
    return Exposure(host, port, url, hosts | {_netloc(url)}, tls, users, oidc)


def _url_of(text: str | None, scheme: str, host: str, port: int) -> str:
    if text is None:
        name = "localhost" if is_loopback(host) else host
        return f"{scheme}://{name}" + ("" if port == _default_port(scheme) else f":{port}")
    parts = urlsplit(text)
    if parts.scheme != scheme or not parts.hostname or parts.path not in ("", "/"):
        raise click.UsageError(f"--url: found {text!r}; expected {scheme}://NAME[:PORT]")
    return f"{scheme}://{_netloc(text)}"


def _netloc(url: str) -> str:
    """Return the header Host of a URL: without the port of its scheme."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return host if parts.port in (None, _default_port(parts.scheme)) else f"{host}:{parts.port}"


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _tls_of(certificate: Path | None, key: Path | None) -> ReloadedFiles[ssl.SSLContext] | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise click.UsageError("--tls-certificate and --tls-key must be given together")
    return ReloadedFiles(lambda: https_context(certificate, key), _Said(), certificate, key)


def _users_of(options: Mapping[str, Any]) -> UsersLogin | None:
    named = {Role.VIEWER: options["viewers"], Role.OPERATOR: options["operators"]}
    files = {role: file for role, file in named.items() if file is not None}
    return UsersLogin(files, _Said()) if files else None


def _oidc_of(options: Mapping[str, Any], url: str) -> Client | None:
    issuer, client = options["oidc_issuer"], options["oidc_client"]
    others = ("oidc_client", "oidc_secret", "oidc_ca", "oidc_viewer", "oidc_operator")
    if issuer is None:
        for name in others:
            if options[name]:
                raise click.UsageError(f"--{name.replace('_', '-')} requires --oidc-issuer")
        return None
    if not is_safe_url(issuer):
        raise click.UsageError(f"--oidc-issuer: found {issuer!r}; expected: https://...")
    if client is None:
        raise click.UsageError("--oidc-issuer requires --oidc-client")
    named = ((Role.OPERATOR, "oidc_operator"), (Role.VIEWER, "oidc_viewer"))
    roles = tuple((role, _claim(text)) for role, name in named for text in options[name])
    if not roles:
        raise click.UsageError(
            "--oidc-issuer requires --oidc-viewer or --oidc-operator: without them nobody has a"
            " role"
        )
    secret = options["oidc_secret"]
    words = "" if secret is None else secret.read_text("utf-8").strip()
    ca = options["oidc_ca"]
    try:
        tls = None if ca is None else ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise ValueError(f"{ca}: expected certificates as PEM") from error
    return Client(issuer, client, f"{url}{CALLBACK}", roles, words, tls)


def _claim(text: str) -> Claim:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise click.UsageError(f"found {text!r}; expected CLAIM=VALUE, such as groups=kafka-admins")
    return Claim(name, value)
