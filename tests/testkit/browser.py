"""A real browser without a window: Debian's Chromium, driven through its DevTools protocol.

    with started() as address:
        async with connected(address) as browser, browser.page() as page:
            await page.open(path.as_uri())
            assert await page.value("document.title") == "Access report"

What the page asks the network for, what it complains of and what it throws is kept. The flags keep
Chromium from asking anybody for anything by itself, so whatever is seen is the page's doing.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

FLAGS = (
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-default-apps", "--disable-extensions", "--mute-audio", "--no-pings"),
    *("--remote-debugging-port=0", "--remote-allow-origins=*"),
)
START_S = 60.0
ANSWER_S = 60.0
_LISTENING = re.compile(rb"DevTools listening on (ws://\S+)")
_MESSAGE_BYTES_MAX = 256 * 1024 * 1024


class BrowserError(Exception):
    """The browser refused a command, or the page threw."""


class Page:
    """One tab. Lists fill while it lives: ``requests`` are URLs, the others are texts."""

    def __init__(self, browser: Browser, session_id: str) -> None:
        self._browser = browser
        self._session_id = session_id
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self.loaded = asyncio.Event()

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol; return its result."""
        return await self._browser.send(method, parameters, self._session_id)

    async def open(self, url: str) -> None:
        """Open a page and wait until it is loaded, scripts included."""
        self.loaded.clear()
        await self.send("Page.navigate", url=url)
        async with asyncio.timeout(ANSWER_S):
            shown = None
            while shown != f"{url} complete":
                # The first event may be that of the empty page before, which came late.
                await self.loaded.wait()
                self.loaded.clear()
                shown = await self.value("`${location.href} ${document.readyState}`")

    async def value(self, expression: str) -> Any:
        """Return what an expression of JavaScript is; a promise is waited for."""
        answer = await self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    async def click(self, selector: str) -> None:
        """Press the mouse on the middle of an element, as a person does."""
        place = await self.value(
            f"(() => {{ const e = document.querySelector({selector!r});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    async def type(self, text: str) -> None:
        """Type a text where the focus is."""
        await self.send("Input.insertText", text=text)

    async def press(self, key: str) -> None:
        """Press a key by its name: Enter, Tab, Escape."""
        code = {"Enter": 13, "Tab": 9, "Escape": 27}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            await self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )

    async def size(self, width: int, height: int, *, phone: bool = False, scale: float = 1) -> None:
        """Give the window a size in CSS pixels; a phone shows pages as phones do."""
        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=phone,
        )

    async def scheme(self, name: str) -> None:
        """Prefer light or dark."""
        await self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": name}],
        )

    async def printed(self) -> bytes:
        """Return the page as PDF."""
        answer = await self.send("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(answer["data"])

    def happened(self, method: str, parameters: dict[str, Any]) -> None:
        """Take an event of the page."""
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(parameters["args"]))
            case "Log.entryAdded":
                self.complaints.append(parameters["entry"]["text"])
            case "Page.javascriptDialogOpening":
                self.dialogs.append(parameters["message"])
            case "Page.loadEventFired":
                self.loaded.set()
            case _:
                pass


class Browser:
    """A running browser: commands go out, answers and events come in."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}

    async def send(
        self, method: str, parameters: dict[str, Any], session_id: str | None = None
    ) -> dict[str, Any]:
        """Send a command; return its result."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        message = {"id": number, "method": method, "params": parameters}
        if session_id is not None:
            message["sessionId"] = session_id
        await self._socket.send_json(message)
        return await asyncio.wait_for(answer, ANSWER_S)

    async def listen(self) -> None:
        """Take what the browser says until it goes."""
        async for raw in self._socket:
            message = raw.json()
            if "id" in message:
                waiting = self._waiting.pop(message["id"], None)
                if waiting is None or waiting.done():
                    continue
                if "error" in message:
                    waiting.set_exception(BrowserError(str(message["error"])))
                else:
                    waiting.set_result(message["result"])
            elif (page := self._pages.get(message.get("sessionId", ""))) is not None:
                page.happened(message["method"], message["params"])
                if message["method"] == "Page.javascriptDialogOpening":
                    # Nobody waits for the answer: this is the task that would receive it.
                    await self._socket.send_json(
                        {
                            "id": next(self._numbers),
                            "method": "Page.handleJavaScriptDialog",
                            "params": {"accept": True},
                            "sessionId": message["sessionId"],
                        }
                    )

    @asynccontextmanager
    async def page(self, *, scripts: bool = True) -> AsyncIterator[Page]:
        """Open a tab; ``scripts`` says whether pages may run any."""
        target = (await self.send("Target.createTarget", {"url": "about:blank"}))["targetId"]
        attached = await self.send("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = Page(self, attached["sessionId"])
        self._pages[attached["sessionId"]] = page
        for domain in ("Page", "Network", "Runtime", "Log"):
            await page.send(f"{domain}.enable")
        await page.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        try:
            yield page
        finally:
            await self.send("Target.closeTarget", {"targetId": target})


@contextlib.contextmanager
def started(program: str | None = None) -> Iterator[str]:
    """Start a browser with an empty profile and give its address.

    Without ``program`` it is the system's, and the test is skipped where there is none.
    """
    program = program or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium here; make setup-system installs it")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # Chromium's sandbox does not work for root, and in a container only root is there.
        flags = (*FLAGS, "--no-sandbox") if os.geteuid() == 0 else FLAGS
        said = Path(profile) / "said.txt"
        with said.open("wb") as file:
            process = subprocess.Popen(
                [program, *flags, f"--user-data-dir={profile}/profile", "about:blank"],
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )
        try:
            yield _address(process, said)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Browser]:
    """Drive the browser at an address."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(address, max_msg_size=_MESSAGE_BYTES_MAX) as socket,
    ):
        browser = Browser(socket)
        listening = asyncio.create_task(browser.listen())
        try:
            yield browser
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


def _address(process: subprocess.Popen[bytes], said: Path) -> str:
    """Return where the browser listens: it says so on stderr."""
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        text = said.read_bytes()
        if (found := _LISTENING.search(text)) is not None:
            return found[1].decode()
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise BrowserError(f"no browser: {said.read_bytes().decode(errors='replace')[-2000:]}")
