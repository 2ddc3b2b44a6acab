"""The keys of the operations port: ``doorkeeper.http.*``."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import Key
from doorkeeper.base.values import KeyType, at_least

HTTP: Final = (
    Key(
        name="doorkeeper.http.listener",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The address of /livez, /readyz and /metrics: http://127.0.0.1:9404 or"
            " https://host:port; by default there is none. An address that other machines reach"
            " requires https and authentication."
        ),
    ),
    Key(
        name="doorkeeper.http.certificate.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The certificate of https as PEM, followed by those of its issuers. It is reloaded"
            " when the file changes."
        ),
    ),
    Key(
        name="doorkeeper.http.key.file",
        type=KeyType.STRING,
        default=None,
        doc="The private key of https as PEM, not encrypted; reloaded when the file changes.",
    ),
    Key(
        name="doorkeeper.http.tokens.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "Bearer tokens of clients: a file with one token of 16 or more characters a line,"
            " reloaded when it changes. Several lines permit a rotation of tokens."
        ),
    ),
    Key(
        name="doorkeeper.http.users.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "Users with basic authentication: a file with one name:password a line, reloaded"
            " when it changes."
        ),
    ),
    Key(
        name="doorkeeper.http.ready.store.age.max.ms",
        type=KeyType.LONG,
        default="60000",
        doc=(
            "The age of the state beyond which /readyz returns 503. Until then a node stays"
            " ready while its shared store is unavailable."
        ),
        check=at_least(0),
    ),
)
"""All keys, in the order of the documentation."""
