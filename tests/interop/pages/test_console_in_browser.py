"""The console in a real browser: all that its links lead to, with and without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qsl, urldefrag, urljoin, urlsplit

import pytest

from testkit.browser import Tab
from testkit.console_questions import QUESTIONS
from testkit.console_tabs import ask, example_console, faults, looking

FOLLOWED_MAX = 60
"""Pages that are looked at; there are fewer kinds."""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with example_console(tmp_path_factory.mktemp("console")) as url:
        yield url


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("width", [390, 768, 1280])
async def test_all_that_links_lead_to_is_accessible(
    console: str, width: int, *, scripts: bool, dark: bool
) -> None:
    """From the first page and from each answer, one page of each kind of link."""
    found: list[str] = []
    async with looking(console, width, scripts=scripts) as tab:
        await tab.page.emulate_media(color_scheme="dark" if dark else "light")
        waiting = {kind_of(f"{console}/"): f"{console}/"}
        seen: set[tuple[str, ...]] = set()
        for name in QUESTIONS:
            await ask(tab, console, name)
            waiting |= await links(tab, console)
            found += await faults(tab, width, scripts=scripts)
        while waiting and len(seen) < FOLLOWED_MAX:
            kind, url = waiting.popitem()
            seen.add(kind)
            await tab.page.goto(url)
            found += await faults(tab, width, scripts=scripts)
            new = await links(tab, console)
            waiting |= {kind: url for kind, url in new.items() if kind not in seen}

    assert found == []
    assert len(seen) > len(QUESTIONS)
    assert not waiting


async def links(tab: Tab, console: str) -> dict[tuple[str, ...], str]:
    """Return a link of each kind to pages of the console."""
    found = re.findall(r'<a [^>]*href="([^"]+)"', await tab.page.content())
    urls = [urljoin(tab.page.url, unescape(one)) for one in found]
    pages = [urldefrag(url).url for url in urls if url.startswith(f"{console}/")]
    return {kind_of(url): url for url in pages if not urlsplit(url).path.endswith((".json", ".md"))}


def kind_of(url: str) -> tuple[str, ...]:
    """Return a path with the names of its fields."""
    parts = urlsplit(url)
    return (parts.path, *sorted({name for name, _ in parse_qsl(parts.query)}))
