"""The port of the console beside peers that open connections and send nothing, or half a form."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from doorkeeper.console import serving
from doorkeeper.server.net.http_listener import network_of
from testkit.certificates import world
from testkit.consoles import served_over, sets_at
from testkit.tls import client_context


def connection_to(url: str, opened: ExitStack, data: str = "") -> socket.socket:
    """Open a connection that sends some bytes and waits."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    peer = opened.enter_context(socket.create_connection((parts.hostname, parts.port)))
    peer.sendall(data.replace("\n", "\r\n").encode())
    return peer


def half_a_form(url: str) -> str:
    host = urlsplit(url).netloc
    return f"POST /read-again HTTP/1.1\nHost: {host}\nOrigin: {url}\nContent-Length: 9\n\nset="


def test_silent_peers_do_not_block_the_console(acls: Path) -> None:
    """One peer could take all descriptors: idle connections were never closed."""
    with served_over(sets_at(acls)) as url, ExitStack() as opened:
        peers = [connection_to(url, opened) for _ in range(serving.LIMITS.connections_max * 2)]

        with urlopen(f"{url}/who-can?name=orders", timeout=20) as page:
            assert page.status == 200
        peers[0].settimeout(20)
        assert peers[0].recv(1) == b""


def test_silent_peers_before_the_handshake_do_not_block_the_console(
    acls: Path, tmp_path: Path
) -> None:
    server = world().server
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    certificate.write_text(server.chain_pem, encoding="ascii")
    key.write_text(server.key_pem(), encoding="ascii")
    words = [f"--tls-certificate={certificate}", f"--tls-key={key}"]
    with served_over(sets_at(acls), None, *words) as url, ExitStack() as opened:
        for _ in range(serving.LIMITS.tls_handshakes_max):
            connection_to(url, opened)

        page = opened.enter_context(urlopen(f"{url}/", timeout=20, context=client_context()))
        assert page.status == 200


def test_unfinished_form_does_not_hold_up_the_end(
    acls: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor is a peer that hangs up in the middle a traceback in the log."""
    with ExitStack() as opened, served_over(sets_at(acls)) as url:
        connection_to(url, opened, half_a_form(url)).close()
        connection_to(url, opened, half_a_form(url))
        with urlopen(f"{url}/who-can?name=orders", timeout=20) as page:
            assert page.status == 200

    # Neither does it wait until requests are cancelled.
    assert capfd.readouterr().err.count("\n") == 1


def test_addresses_of_a_network_of_ipv6_are_one_peer() -> None:
    """A peer has all 2^64 of them; addresses of IPv4 stand for themselves."""
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1") != network_of("2001:db9::")
    assert network_of("fe80::1%eth0") == network_of("fe80:0:0:0:0:0:0:2%3")
    assert network_of("192.0.2.1") == "192.0.2.1"
    assert network_of("testclient") == "testclient"
