r"""The messages of SCRAM (RFC 5802), as Kafka reads and writes them.

    client first   n,,n=alice,r=<nonce>[,tokenauth=true]
    server first   r=<nonce><server's part>,s=<salt>,i=<iterations>
    client final   c=biws,r=<both nonces>,p=<proof>
    server final   v=<signature>

Kafka's dialect: names are ASCII, with ``,`` and ``=`` escaped; channel binding is not supported,
and its value in the final message is not checked; a mandatory extension ``m=`` is ignored; there is
no ``e=``. Both sides sign the first three messages as Kafka reassembles them, which may differ from
the bytes received.

Source: ``ScramMessages`` and ``ScramFormatter`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

# Kafka parses half a megabyte, which would cost the loop 0.1 s and more before authentication.
BYTES_MAX: Final = 65_536
# Possessive quantifiers rule out backtracking: no character can match in two ways.
_NAME = rb"(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]++|=2C|=3D)++"
_VALUE = rb"[\x01-\x2B\x2D-\x7F]++"
_PRINTABLE = rb"[\x21-\x2B\x2D-\x7E]++"
_BASE64 = rb"(?:[A-Za-z0-9/+]{4})*+(?:[A-Za-z0-9/+]{3}=|[A-Za-z0-9/+]{2}==)?"
_EXTENSIONS = rb"(?:,[A-Za-z]++=" + _VALUE + rb")*"

_CLIENT_FIRST: Final = re.compile(
    rb"n,(?:a=(?P<authorization_id>" + _NAME + rb"))?,(?:m=" + _VALUE + rb",)?"
    rb"n=(?P<name>" + _NAME + rb"),r=(?P<nonce>" + _PRINTABLE + rb")"
    rb"(?P<extensions>" + _EXTENSIONS + rb")"
)
_CLIENT_FINAL: Final = re.compile(
    rb"c=(?P<channel>" + _BASE64 + rb"),r=(?P<nonce>" + _PRINTABLE + rb")"
    rb"" + _EXTENSIONS + rb",p=(?P<proof>" + _BASE64 + rb")"
)


class Malformed(ValueError):
    """The bytes are not a valid message of SCRAM."""


class ClientFirst(Struct, frozen=True):
    """The client's first message.

    ``authorization_id`` is as received, escaped, and empty if absent. ``name`` is a user's or, with
    ``by_token``, the id of a delegation token. ``bare`` is the part that is signed.
    """

    authorization_id: str
    name: str
    nonce: str
    by_token: bool
    bare: str


class ClientFinal(Struct, frozen=True):
    """The client's final message. ``unproved`` is the part that is signed."""

    nonce: str
    proof: bytes
    unproved: str


def client_first(token: bytes) -> ClientFirst:
    match = _CLIENT_FIRST.fullmatch(token) if len(token) <= BYTES_MAX else None
    if match is None:
        raise Malformed("the first message of the client is malformed")
    escaped, nonce = match["name"].decode(), match["nonce"].decode()
    extensions = _extensions(match["extensions"].decode())
    return ClientFirst(
        authorization_id=(match["authorization_id"] or b"").decode(),
        name=escaped.replace("=2C", ",").replace("=3D", "="),
        nonce=nonce,
        by_token=extensions.get("tokenauth", "").lower() == "true",
        bare=",".join((f"n={escaped}", f"r={nonce}", *map("=".join, extensions.items()))),
    )


def client_final(token: bytes) -> ClientFinal:
    """Parse the final message. Its extensions are not signed."""
    match = _CLIENT_FINAL.fullmatch(token) if len(token) <= BYTES_MAX else None
    if match is None:
        raise Malformed("the final message of the client is malformed")
    nonce = match["nonce"].decode()
    return ClientFinal(
        nonce=nonce,
        proof=b64decode(match["proof"]),
        unproved=f"c={_base64(b64decode(match['channel']))},r={nonce}",
    )


def server_first(nonce: str, salt: bytes, iterations: int) -> str:
    """Return the server's first message; ``nonce`` is the client's followed by the server's."""
    return f"r={nonce},s={_base64(salt)},i={iterations}"


def server_final(signature: bytes) -> bytes:
    return b"v=" + b64encode(signature)


def _extensions(text: str) -> Mapping[str, str]:
    """Return extensions by name; the last value of a duplicate counts.

    Kafka signs several of them in an order that may change when a broker restarts; here it is the
    order of arrival. Kafka's own clients send at most one.
    """
    return {
        name: value for name, _, value in (part.partition("=") for part in text.split(",") if part)
    }


def _base64(octets: bytes) -> str:
    return b64encode(octets).decode()
