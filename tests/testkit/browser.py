"""Debian's Chromium without a window, driven by Playwright.

    async with opened() as tab:
        await tab.page.goto(path.as_uri())
        assert await tab.page.title() == "Access report"

What a page requests, complains of and throws is recorded. The flags keep Chromium from requesting
anything by itself, so each recorded request is the page's.
"""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Dialog, Page

FLAGS = (
    *("--disable-quic", "--no-pings", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-sandbox"),
)
"""Chromium's sandbox does not work for root, and in a container only root is there."""


class Tab(NamedTuple):
    """A page of the browser, and what happened in it."""

    page: Page
    requests: list[str]
    complaints: list[str]
    dialogs: list[str]


def chromium() -> str:
    """Return the system's browser; the test is skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium here; make setup-system installs it")
    return program


@asynccontextmanager
async def opened(
    *, scripts: bool = True, width: int = 1280, height: int = 900, phone: bool = False
) -> AsyncIterator[Tab]:
    """Open an empty page in a browser of its own, with a window in CSS pixels."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS])
        context = await browser.new_context(
            java_script_enabled=scripts,
            viewport={"width": width, "height": height},
            is_mobile=phone,
            has_touch=phone,
            # The certificates of tests are those of an authority that the browser does not know.
            ignore_https_errors=True,
        )
        tab = Tab(await context.new_page(), [], [], [])

        async def accept(dialog: Dialog) -> None:
            tab.dialogs.append(dialog.message)
            await dialog.accept()

        tab.page.on("request", lambda request: tab.requests.append(request.url))
        tab.page.on("console", lambda message: tab.complaints.append(message.text))
        tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.page.on("dialog", accept)
        try:
            yield tab
        finally:
            await browser.close()
