"""The console in a real browser, over a file, a Doorkeeper and a Kafka: with and without scripts.

The tasks are asked by their forms, all links are followed, and changes are made.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urldefrag, urlencode, urljoin, urlsplit

import pytest

from testkit.browser import Tab
from testkit.console_questions import QUESTIONS
from testkit.console_tabs import ask, command, example_console, faults, looking
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.or_skip import or_skip

FOLLOWED_MAX = 60
"""Pages that are looked at; there are fewer kinds."""

PLACES = ("file", "doorkeeper", "kafka")


@pytest.fixture(scope="module", params=PLACES)
def live(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the address of a live cluster: of a Doorkeeper, of a Kafka 4.3.1; none for a file."""
    if request.param == "file":
        yield ""
        return
    target: Target = or_skip(doorkeeper_target if request.param == "doorkeeper" else kafka_target)
    try:
        yield f"kafka://{target.plain}"
    finally:
        target.close()


@pytest.fixture
def console(live: str, tmp_path: Path) -> Iterator[str]:
    with example_console(tmp_path, live) as url:
        yield url


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("width", [390, 1280])
async def test_all_that_links_lead_to_is_accessible(
    console: str, width: int, *, scripts: bool
) -> None:
    """The answer of each task, and from there one page of each kind of link."""
    found: list[str] = []
    async with looking(console, width, scripts=scripts) as tab:
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


@pytest.mark.parametrize("scripts", [True, False])
async def test_differences_are_mended_and_a_grant_is_accepted(
    console: str, live: str, tmp_path: Path, *, scripts: bool
) -> None:
    """From the page of differences to the plan; after it the address has the wanted ACLs."""
    place = live or f"store:{tmp_path / 'data'}"
    async with looking(console, 390, scripts=scripts) as tab:
        page = tab.page
        await page.goto(f"{console}/drift?{urlencode({'set': tmp_path / 'other.csv'})}")
        await page.locator("#answer th a", has_text=place.partition(":")[2]).click()
        await page.get_by_role("link", name="as wanted").click()
        number = await page.get_by_label("type the number").locator("xpath=../label").inner_text()
        await page.get_by_label("type the number").fill(number.rpartition(" ")[2])
        await page.get_by_role("button", name="Change").click()
        done = await page.locator("h1").inner_text(), await faults(tab, 390, scripts=scripts)
        await page.goto(f"{console}/grants?grant=g1")
        await page.get_by_label("Keep it").fill("2099-12-31")
        await page.get_by_role("button", name="Accept").click()
        accepted = await page.locator("h1").inner_text()
    # It fails where they differ; it has an event loop of its own.
    await asyncio.to_thread(command, "diff", place, str(tmp_path / "other.csv"))

    assert done == ("Done", [])
    assert accepted == "Done"
    assert "2099-12-31" in (tmp_path / "findings.json").read_text("utf-8")


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
