"""The keys of the operations port: ``doorkeeper.http.*``."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import file, long, optional
from doorkeeper.base.values import at_least

HTTP_LISTENER: Final = optional(
    "doorkeeper.http.listener",
    "The address of /livez, /readyz and /metrics: http://127.0.0.1:9404 or https://host:port;"
    " by default there is none. An address that other machines reach requires https and"
    " authentication.",
)
HTTP_CERTIFICATE_FILE: Final = file(
    "doorkeeper.http.certificate.file",
    "A PEM file with the certificate of the HTTPS server, followed by its chain; reloaded when the"
    " file changes.",
)
HTTP_KEY_FILE: Final = file(
    "doorkeeper.http.key.file",
    "A PEM file with the private key of the HTTPS server, not encrypted; reloaded when the file"
    " changes.",
)
HTTP_TOKENS_FILE: Final = file(
    "doorkeeper.http.tokens.file",
    "Bearer tokens of clients: a file with one token of 16 or more characters a line, reloaded"
    " when it changes. Use several lines to rotate tokens.",
)
HTTP_USERS_FILE: Final = file(
    "doorkeeper.http.users.file",
    "Users with basic authentication: a file with one name:password a line, reloaded when it"
    " changes.",
)
HTTP_READY_STORE_AGE_MAX_MS: Final = long(
    "doorkeeper.http.ready.store.age.max.ms",
    60_000,
    "The age of the state beyond which /readyz returns 503. Until then a node stays ready while"
    " its shared store is unavailable.",
    at_least(0),
)
