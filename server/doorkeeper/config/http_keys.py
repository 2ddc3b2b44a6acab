"""The keys of the operations port: ``doorkeeper.http.*``."""

from __future__ import annotations

from typing import Final

from doorkeeper.config.key import Key
from doorkeeper.config.values import KeyType, at_least

HTTP: Final = (
    Key(
        name="doorkeeper.http.listener",
        type=KeyType.STRING,
        default=None,
        doc=(
            "Where /livez, /readyz and /metrics are: http://127.0.0.1:9404 or https://host:port;"
            " without it nowhere. An address that is not this machine's own needs https and a"
            " login."
        ),
    ),
    Key(
        name="doorkeeper.http.certificate.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The certificate of https, in PEM, and behind it those of its issuers. It is read anew"
            " when the file changes."
        ),
    ),
    Key(
        name="doorkeeper.http.key.file",
        type=KeyType.STRING,
        default=None,
        doc="The private key of https, in PEM, not encrypted; read anew when the file changes.",
    ),
    Key(
        name="doorkeeper.http.tokens.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "Who may ask by a bearer token: a file with one token of 16 or more characters a line."
            " It is read anew when it changes; several lines let old and new ones hold together."
        ),
    ),
    Key(
        name="doorkeeper.http.users.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "Who may ask by name and password (basic): a file with one name:password a line; read"
            " anew when it changes."
        ),
    ),
    Key(
        name="doorkeeper.http.ready.store.age.max.ms",
        type=KeyType.LONG,
        default="60000",
        doc=(
            "How old what a node knows of a shared store may be until /readyz says 503. Until then"
            " a node goes on deciding and describing while the database is away."
        ),
        check=at_least(0),
    ),
)
"""All keys, in the order of the documentation."""
