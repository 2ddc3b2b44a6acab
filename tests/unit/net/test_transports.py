"""What a transport says of its peer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from doorkeeper.net.transports import is_encrypted, peer_certificates
from doorkeeper.tls.context import build_context
from doorkeeper.tls.sources import files_of
from testkit.certificates import world
from testkit.tls import client_context, in_pem, shaken

if TYPE_CHECKING:
    import ssl
    from pathlib import Path


class Transport(asyncio.BaseTransport):
    """Speaks TLS where the test says so."""

    def __init__(self, tls: ssl.SSLObject | None) -> None:
        super().__init__({"ssl_object": tls})


def shaken_with(folder: Path, *, certified: bool) -> Transport:
    settings: Any = in_pem(folder, ssl_client_auth="requested")
    client = client_context(world().alice, folder) if certified else client_context()
    return Transport(shaken(build_context(settings, files_of(settings)).context, client)[0])


def test_in_clear_nobody_shows_anything() -> None:
    """There is no TLS, and no certificate."""
    assert not is_encrypted(Transport(None))
    assert peer_certificates(Transport(None)) == ()


def test_a_client_without_a_certificate_shows_none(tmp_path: Path) -> None:
    """It is encrypted all the same."""
    transport = shaken_with(tmp_path, certified=False)

    assert is_encrypted(transport)
    assert peer_certificates(transport) == ()


def test_a_client_shows_its_certificate_and_its_issuers(tmp_path: Path) -> None:
    """In DER, its own first."""
    found = peer_certificates(shaken_with(tmp_path, certified=True))

    assert found[0] == world().alice.der
    assert len(found) == 2
