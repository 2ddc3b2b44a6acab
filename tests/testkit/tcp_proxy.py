"""A door between client and server that fails in every way in which a network does.

``pass``        bytes go through, each piece after ``delay_s``
``paused``      nothing moves; after ``heal`` everything arrives after all
``black hole``  connections are accepted and bytes vanish; ``heal`` closes what lost some
``cut``         what is open is reset, what comes is reset at once
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Final, Literal, Self

from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

Mode = Literal["pass", "paused", "black hole", "cut"]

_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER of zero seconds: a close is a reset."""

_PIECE_BYTES: Final = 65_536
_CALL_S: Final = 10


class TcpProxy:
    """Listens on a free port of loopback for a server on another; it has a thread of its own."""

    def __init__(self, target_port: int) -> None:
        """Prepare; ``start`` opens the port, ``close`` ends everything."""
        self._target_port = target_port
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="tcp-proxy", daemon=True)
        self._open: set[_Pair] = set()
        self._moves = asyncio.Event()
        self.mode: Mode = "pass"
        self.delay_s = 0.0
        self.port = 0
        self.connections = 0
        """How many came since the start."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def start(self) -> None:
        """Open the port."""
        self._thread.start()
        self._call(self._listen())

    def pause(self) -> None:
        """Hold back everything from now on, without losing it."""
        self._call(self._turn("paused"))

    def black_hole(self) -> None:
        """Take everything from now on, and pass nothing on."""
        self._call(self._turn("black hole"))

    def cut(self) -> None:
        """Reset what is open, and whatever comes."""
        self._call(self._turn("cut"))

    def heal(self) -> None:
        """Pass bytes again; connections that lost some are reset."""
        self._call(self._turn("pass"))

    def close(self) -> None:
        """End all connections and the thread."""
        self._call(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(scaled(_CALL_S))
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_CALL_S)

    async def _listen(self) -> None:
        self._moves.set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _turn(self, mode: Mode) -> None:
        self.mode = mode
        if mode == "paused":
            self._moves.clear()
        else:
            self._moves.set()
        for pair in list(self._open):
            if mode == "cut" or (mode == "pass" and pair.lost_some):
                pair.reset()

    async def _shut(self) -> None:
        self._server.close()
        self._moves.set()
        for pair in list(self._open):
            pair.reset()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        pair = _Pair(writer)
        self._open.add(pair)
        try:
            if self.mode == "cut":
                return
            await self._moves.wait()
            if self.mode != "black hole":
                there, back = await asyncio.open_connection("127.0.0.1", self._target_port)
                pair.server = back
                await asyncio.gather(
                    self._pump(pair, reader, back), self._pump(pair, there, writer)
                )
            else:
                pair.lost_some = True
                while await reader.read(_PIECE_BYTES):
                    pass
        except (OSError, asyncio.CancelledError):
            # Python 3.11 complains of a handler that ends cancelled.
            pass
        finally:
            pair.reset()
            self._open.discard(pair)

    async def _pump(
        self, pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while piece := await reader.read(_PIECE_BYTES):
            await self._moves.wait()
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if self.mode == "black hole":
                pair.lost_some = True
                continue
            writer.write(piece)
            await writer.drain()
        await self._moves.wait()
        if self.mode == "black hole":
            pair.lost_some = True
        else:
            with suppress(OSError, RuntimeError):
                writer.write_eof()


class _Pair:
    """Both sides of one connection."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.client = client
        self.server: asyncio.StreamWriter | None = None
        self.lost_some = False

    def reset(self) -> None:
        """Close both sides with a reset; may be called again."""
        for writer in (self.client, self.server):
            if writer is None or writer.transport.is_closing():
                continue
            opened: socket.socket | None = writer.get_extra_info("socket")
            if opened is not None:
                with suppress(OSError):
                    opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()
