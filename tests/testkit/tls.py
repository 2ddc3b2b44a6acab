"""A listener's TLS of a test: settings, clients, and a handshake without a network."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from doorkeeper.base.tls.settings import TlsSettings
from doorkeeper.base.tls.sources import files_of
from doorkeeper.server.net.options import ConnectionSecurity, ListenerSpec
from doorkeeper.server.security.principals import DefaultPrincipalBuilder
from doorkeeper.server.security.tls.context import build_context
from testkit.certificates import world
from testkit.edge import Client, Edge

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.certificates import Authority, Certified


def settings(**values: str | Path) -> TlsSettings:
    """Return settings of a listener called DOOR; underscores in keys stand for dots.

    ``protocol`` is the security protocol; a ``prefix`` stands before the keys that give values.
    """
    protocol, prefix = str(values.pop("protocol", "SSL")), str(values.pop("prefix", ""))
    texts = {key.replace("_", "."): str(value) for key, value in values.items()}
    return TlsSettings(
        listener_name="DOOR",
        security_protocol=protocol,
        values=texts,
        given_as={key: prefix + key for key in texts},
    )


def in_pem(folder: Path, **values: str | Path) -> TlsSettings:
    """Return settings of the usual server, all in files of PEM."""
    (folder / "trusted.pem").write_text(world().authority.pem)
    usual: dict[str, str | Path] = {
        "ssl_keystore_type": "PEM",
        "ssl_keystore_location": world().server.write_pem(folder / "server.pem"),
        "ssl_truststore_type": "PEM",
        "ssl_truststore_location": folder / "trusted.pem",
    }
    return settings(**(usual | values))


def client_context(
    certified: Certified | None = None,
    folder: Path | None = None,
    *,
    authority: Authority | None = None,
) -> ssl.SSLContext:
    """Return what a client needs: it trusts the usual authority, and shows a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=(authority or world().authority).pem)
    if certified is not None:
        assert folder is not None
        context.load_cert_chain(certified.write_pem(folder / f"client-{id(certified)}.pem"))
    return context


def shaken(
    server: ssl.SSLContext, client: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Let both sides shake hands in memory; return server and client.

    The client asks for its ``session`` to be taken up again.

    Raises:
        ssl.SSLError: one side refuses.
    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname="localhost", session=session)
    waiting = [theirs, ours]
    for _ in range(10):
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                continue
    assert not waiting
    return ours, theirs


def offers(folder: Path, **values: str | Path) -> ConnectionSecurity:
    """Return what the usual server offers, with its context made of these settings."""
    found = in_pem(folder, **values)
    return ConnectionSecurity(
        None, DefaultPrincipalBuilder(), build_context(found, files_of(found)).context
    )


def door(folder: Path, **values: str | Path) -> ListenerSpec:
    """Return a listener called DOOR that speaks SSL."""
    return ListenerSpec(
        name="DOOR",
        security_protocol="SSL",
        host="127.0.0.1",
        port=0,
        security=offers(folder, **values),
    )


async def connected(edge: Edge, context: ssl.SSLContext) -> Client:
    """Connect to the first listener and shake hands."""
    client = Client(
        *await asyncio.open_connection(
            "127.0.0.1", edge.port, ssl=context, server_hostname="localhost"
        )
    )
    edge.clients.append(client)
    return client
