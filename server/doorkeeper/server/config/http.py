"""Settings of the operations port.

Its pages show the state of the server, so an address that other machines reach requires https and
authentication.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from doorkeeper.server.config.http_keys import (
    HTTP_CERTIFICATE_FILE,
    HTTP_KEY_FILE,
    HTTP_LISTENER,
    HTTP_READY_STORE_AGE_MAX_MS,
    HTTP_TOKENS_FILE,
    HTTP_USERS_FILE,
)
from doorkeeper.server.config.raw_config import RawConfig

_FILES: Final = (HTTP_CERTIFICATE_FILE, HTTP_KEY_FILE, HTTP_TOKENS_FILE, HTTP_USERS_FILE)
_FORMS: Final = "http://127.0.0.1:9404, or https://host:port"


class HttpSettings(Struct, frozen=True, kw_only=True):
    """Address and files of the operations port. Both files of https are set, or none."""

    host: str
    port: int
    certificate_file: Path | None = None
    key_file: Path | None = None
    tokens_file: Path | None = None
    users_file: Path | None = None
    store_age_max_ms: int = 60_000

    @property
    def is_encrypted(self) -> bool:
        return self.certificate_file is not None

    @property
    def has_login(self) -> bool:
        """Return whether clients must authenticate."""
        return self.tokens_file is not None or self.users_file is not None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{self.port}"


def http_of(raw: RawConfig) -> HttpSettings | None:
    """Return the settings; None if the port is off, or has a problem."""
    text = raw[HTTP_LISTENER]
    if not text:
        for key in _FILES:
            if raw[key]:
                raw.problem(key, f"has no effect without {HTTP_LISTENER}")
        return None
    address = _address(text)
    if address is None:
        # A login may contain a password.
        found = "a URL with a login" if "@" in text else repr(text)
        raw.problem(HTTP_LISTENER, f"found {found}; allowed: {_FORMS}")
        return None
    encrypted, host, port = address
    before = len(raw.problems)
    for key in (HTTP_CERTIFICATE_FILE, HTTP_KEY_FILE):
        if encrypted and not raw[key]:
            raw.problem(HTTP_LISTENER, f"https requires {key}")
        if raw[key] and not encrypted:
            raw.problem(key, f"has no effect: {HTTP_LISTENER} is not https")
    # Metrics and readiness reveal names and sizes: only this machine may read them without a login.
    if not is_loopback(host):
        _check_reachable(raw, encrypted=encrypted)
    if len(raw.problems) > before:
        return None
    return HttpSettings(
        host=host,
        port=port,
        certificate_file=raw[HTTP_CERTIFICATE_FILE],
        key_file=raw[HTTP_KEY_FILE],
        tokens_file=raw[HTTP_TOKENS_FILE],
        users_file=raw[HTTP_USERS_FILE],
        store_age_max_ms=raw[HTTP_READY_STORE_AGE_MAX_MS],
    )


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host; names other than localhost may be public."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(text: str) -> tuple[bool, str, int] | None:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    # A query, fragment or login in the URL would be ignored silently.
    bare = not (parts.query or parts.fragment or parts.username is not None)
    if parts.scheme not in ("http", "https") or not bare or parts.path not in ("", "/"):
        return None
    if not host or port is None:
        return None
    return parts.scheme == "https", host, port


def _check_reachable(raw: RawConfig, *, encrypted: bool) -> None:
    others = "this address is reachable from other machines and requires"
    if not encrypted:
        raw.problem(
            HTTP_LISTENER, f"{others} https, with {HTTP_CERTIFICATE_FILE} and {HTTP_KEY_FILE}"
        )
    if not raw[HTTP_TOKENS_FILE] and not raw[HTTP_USERS_FILE]:
        raw.problem(HTTP_LISTENER, f"{others} a login, by {HTTP_TOKENS_FILE} or {HTTP_USERS_FILE}")
