"""The client of single frames knows when a server has left it."""

from __future__ import annotations

import socket

from testkit.frames import FrameClient


def test_a_connection_is_open_until_the_server_closes_it() -> None:
    """Also while bytes wait to be read."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        with FrameClient(f"{host}:{port}") as client:
            server, _ = listener.accept()
            assert client.is_open()

            server.sendall(b"\0\0\0\0")
            assert client.is_open()
            assert client.raw(b"") == b""

            server.shutdown(socket.SHUT_WR)
            assert not client.is_open()
            server.close()
