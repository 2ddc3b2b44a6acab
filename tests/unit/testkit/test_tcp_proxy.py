"""The network that fails, fails as it was asked to."""

from __future__ import annotations

import socket
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from testkit.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT_S = 0.15
LONG_S = 10


def echo(server: socket.socket) -> None:
    while True:
        try:
            opened, _ = server.accept()
        except OSError:
            return
        Thread(target=_echo_one, args=(opened,), daemon=True).start()


def _echo_one(opened: socket.socket) -> None:
    with opened:
        try:
            while piece := opened.recv(1000):
                opened.sendall(piece)
        except OSError:
            return


@pytest.fixture
def proxy() -> Iterator[TcpProxy]:
    """A proxy before a server that sends everything back."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=echo, args=(server,), daemon=True).start()
        with TcpProxy(server.getsockname()[1]) as made:
            yield made
        server.shutdown(socket.SHUT_RDWR)


def connected(proxy: TcpProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=LONG_S)


def said(client: socket.socket, text: bytes) -> bytes:
    client.sendall(text)
    return client.recv(1000)


def is_ended(proxy: TcpProxy) -> bool:
    """Say whether a new connection closes at once, in order or with a reset."""
    try:
        with connected(proxy) as client:
            return client.recv(1000) == b""
    except ConnectionError:
        return True


def test_bytes_go_through(proxy: TcpProxy) -> None:
    """A healthy network passes on what it gets, and the end of it."""
    with connected(proxy) as client:
        assert said(client, b"hello") == b"hello"
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1000) == b""
    assert proxy.connections == 1


def test_a_pause_loses_nothing(proxy: TcpProxy) -> None:
    """What was sent in a pause comes after it, over the connection that was open."""
    with connected(proxy) as client:
        assert said(client, b"one") == b"one"
        proxy.pause()
        client.sendall(b"two")
        client.settimeout(SHORT_S)
        with pytest.raises(TimeoutError):
            client.recv(1000)

        proxy.heal()

        client.settimeout(LONG_S)
        assert client.recv(1000) == b"two"


def test_a_cut_resets_old_and_new(proxy: TcpProxy) -> None:
    """What is open is reset, and so is what comes; after healing new ones live."""
    with connected(proxy) as client:
        assert said(client, b"one") == b"one"
        proxy.cut()
        with pytest.raises(ConnectionError):
            said(client, b"two")
    assert is_ended(proxy)

    proxy.heal()

    with connected(proxy) as client:
        assert said(client, b"three") == b"three"


def test_a_black_hole_takes_everything(proxy: TcpProxy) -> None:
    """Connections open and stay, nothing answers; after healing they are reset, new ones live."""
    with connected(proxy) as old:
        assert said(old, b"one") == b"one"
        proxy.black_hole()
        with connected(proxy) as late:
            for client in (old, late):
                client.sendall(b"two")
                client.settimeout(SHORT_S)
                with pytest.raises(TimeoutError):
                    client.recv(1000)

            proxy.heal()

            for client in (old, late):
                client.settimeout(LONG_S)
                with pytest.raises(ConnectionError):
                    client.recv(1000)
    with connected(proxy) as client:
        assert said(client, b"three") == b"three"


def test_a_delay_is_kept(proxy: TcpProxy) -> None:
    """Each piece waits; shorter than the delay nothing comes."""
    proxy.delay_s = 2 * SHORT_S
    with connected(proxy) as client:
        client.sendall(b"slow")
        client.settimeout(SHORT_S)
        with pytest.raises(TimeoutError):
            client.recv(1000)
        client.settimeout(LONG_S)
        assert client.recv(1000) == b"slow"


def test_a_server_that_is_away_is_a_reset() -> None:
    """A client of a server that does not listen sees its connection end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with TcpProxy(port) as proxy:
        assert is_ended(proxy)
