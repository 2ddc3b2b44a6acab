"""The operations port over real sockets."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from doorkeeper.server.config.http import HttpSettings
from doorkeeper.server.net.addresses import BindError
from doorkeeper.server.operations.http import port as http_port
from doorkeeper.server.operations.http.pages import Pages
from doorkeeper.server.operations.http.port import LIMITS, HttpPort
from testkit.certificates import Authority, world
from testkit.edge import Log, until
from testkit.http_port import ask, send
from testkit.tls import client_context

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from aiohttp import web

    from doorkeeper.server.operations.http.answers import Answer

TOKEN = "a-token-of-some-length"


class Heart:
    lag_s = 0.0


class Exposed:
    async def text(self, accept: str) -> tuple[bytes, str]:
        return b"x" * 3_000_000, "text/plain"


class Broken(Pages):
    async def answer(self, request: web.Request) -> Answer:
        raise RuntimeError("a page that fails")


class Running:
    """A port that is open."""

    def __init__(self, port: HttpPort, log: Log) -> None:
        self.port, self.log = port, log
        self.number = int(port.url.rpartition(":")[2])

    @property
    def connections(self) -> int:
        assert self.port._listener is not None
        return self.port._listener.connections


def local(**settings: Any) -> HttpSettings:
    usual: dict[str, Any] = {"host": "127.0.0.1", "port": 0}
    return HttpSettings(**(usual | settings))


@asynccontextmanager
async def running(kind: type[Pages] = Pages, **settings: Any) -> AsyncIterator[Running]:
    log = Log()
    port = HttpPort(local(**settings), log)
    await port.open(kind({}, cast("Any", Heart()), cast("Any", Exposed()), port.credentials))
    try:
        yield Running(port, log)
    finally:
        await port.close()


def key_pair(folder: Path, name: str = "server") -> dict[str, Any]:
    certified = world().server
    files = {
        "certificate_file": folder / f"{name}.pem",
        "key_file": folder / f"{name}.key",
    }
    files["certificate_file"].write_text(certified.chain_pem)
    files["key_file"].write_text(certified.key_pem())
    return files


async def test_one_request_per_connection() -> None:
    async with running() as port:
        reply = await ask(port.number, "/livez?verbose=1")
        head = await ask(port.number, "/", method="HEAD")

        assert (reply.status, reply.json["alive"]) == (200, True)
        assert reply.headers["connection"] == "close"
        assert reply.headers["cache-control"] == "no-store"
        assert "server" not in reply.headers
        assert (head.status, head.body) == (200, b"")
        assert int(head.headers["content-length"]) > 0
        await until(lambda: port.connections == 0)


async def test_loopback_rejects_other_host_headers() -> None:
    own = ("LOCALHOST:9404", "node.localhost.:9404", "127.0.0.1:9404", "[::1]:9404", "10.0.0.7")
    others = ("evil.example:9404", "localhost.evil.example", "127.0.0.1.evil.example", "1")
    async with running() as port:
        for host in (*own, *others):
            reply = await send(port.number, f"GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert reply.status == (200 if host in own else 421), host
            assert (b"alive" in reply.body) is (host in own)
        old = await send(port.number, b"GET /livez HTTP/1.0\r\n\r\n")
        assert old.status == 200


async def test_invalid_request_returns_400() -> None:
    start = b"GET / HTTP/1.1\r\nHost: a\r\n"
    async with running() as port:
        for data in (
            b"GARBAGE\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
            start + b"X: " + b"x" * 9000 + b"\r\n\r\n",
            start + b"X: y\r\n" * 100 + b"\r\n",
        ):
            reply = await send(port.number, data)
            assert (reply.status, reply.body) == (400, b"400 Bad Request\n")
            assert "server" not in reply.headers
        assert port.log.events() == []
        headers = {"Content-Length": "1000000000"}
        assert (await ask(port.number, "/", method="POST", headers=headers)).status == 405


async def test_failing_page_returns_500() -> None:
    async with running(Broken) as port:
        reply = await ask(port.number, "/metrics")

        assert (reply.status, reply.body) == (500, b"500 Internal Server Error\n")
        assert port.log.one("a page failed").fields == {"path": "/metrics"}


async def test_silent_connections_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_port, "REQUEST_S", 0.05)
    async with running() as port:
        silent = await asyncio.open_connection("127.0.0.1", port.number)
        half = await asyncio.open_connection("127.0.0.1", port.number)
        half[1].write(b"GET / HTTP/1.1\r\nHost:")
        stuck = await asyncio.open_connection("127.0.0.1", port.number, limit=1)
        stuck[1].write(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        readers = [reader for reader, _ in (silent, half)]

        assert [await reader.read() for reader in readers] == [b"", b""]
        await until(lambda: port.connections == 0)
        for _, writer in (silent, half, stuck):
            writer.close()


async def test_connections_are_limited() -> None:
    async with running() as port:
        most = LIMITS.connections_per_ip_max
        writers = [
            (await asyncio.open_connection("127.0.0.1", port.number))[1] for _ in range(most)
        ]
        await until(lambda: port.connections == most)

        reader, extra = await asyncio.open_connection("127.0.0.1", port.number)
        assert await reader.read() == b""
        assert port.connections == most
        for writer in (*writers, extra):
            writer.close()
        await until(lambda: port.connections == 0)
        assert (await ask(port.number)).status == 200


async def test_silent_connections_do_not_block_probes() -> None:
    async with running() as port:
        held = [
            await asyncio.open_connection("127.0.0.1", port.number, local_addr=(host, 0))
            for _ in range(LIMITS.connections_per_ip_max)
            for host in ("127.0.0.2", "127.0.0.3")
        ]
        await until(lambda: port.connections >= LIMITS.connections_max - 1)

        async with asyncio.timeout(http_port.REQUEST_S / 2):
            for _ in range(3):
                assert (await ask(port.number, "/livez")).status == 200

        for _, writer in held:
            writer.close()


async def test_changed_credentials_are_reloaded(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(TOKEN)

    async with running(tokens_file=file) as port:
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert (await ask(port.number, "/metrics")).status == 401
        assert (await ask(port.number, "/metrics", headers=bearer)).status == 200
        file.write_text("another-token-of-some-length")
        assert (await ask(port.number, "/metrics", headers=bearer)).status == 401
        assert (await ask(port.number, "/livez")).status == 200


async def test_wrong_login_is_delayed(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(TOKEN)
    loop = asyncio.get_running_loop()

    async with running(tokens_file=file) as port:
        for path, headers in (("/", {}), ("/readyz", {"Authorization": "Bearer guessed"})):
            began_s = loop.time()
            await ask(port.number, path, headers=headers)

            assert loop.time() - began_s >= http_port.FAILED_LOGIN_S


async def test_https_certificate_is_reloaded(tmp_path: Path) -> None:
    files = key_pair(tmp_path)

    async with running(**files) as port:
        assert port.port.url.startswith("https://")
        trusting = client_context()
        assert (await ask(port.number, "/livez", tls=trusting)).status == 200

        other = Authority().server()
        files["certificate_file"].write_text(other.chain_pem)
        files["key_file"].write_text(other.key_pem())
        with pytest.raises(ssl.SSLCertVerificationError):
            await ask(port.number, "/livez", tls=client_context())
        assert "files reloaded" in port.log.events("info")


@pytest.mark.parametrize("wrong", ["missing", "garbage", "encrypted"])
def test_unusable_files_stop_the_start(tmp_path: Path, wrong: str) -> None:
    files = key_pair(tmp_path)
    if wrong == "missing":
        files["key_file"].unlink()
    elif wrong == "garbage":
        files["certificate_file"].write_text("no certificate")
    else:
        files["key_file"].write_text(world().server.key_pem("a password"))

    with pytest.raises(ValueError, match=r"listener: https cannot be used") as caught:
        HttpPort(local(**files), Log())

    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"the login cannot be used: .*users: No such file"):
        HttpPort(local(users_file=tmp_path / "users"), Log())


async def test_bound_address_decides_about_loopback() -> None:
    with pytest.raises(BindError, match=r"0\.0\.0\.0 is not a loopback address"):
        async with running(host="0.0.0.0"):
            pass
