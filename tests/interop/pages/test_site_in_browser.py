"""The documentation site in a real browser: accessible, complete without a network, searchable."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testkit.browser import Tab, opened
from testkit.checkout import ROOT
from website import diagrams
from website.node import node_file

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1800)]

SCREENS = {"wide": (1280, 900, False), "narrow": (360, 740, True)}
# Without preload axe fetches no style sheets, which a page from a file may not.
AUDIT = """axe.run(document, {preload: false,
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    .then((found) => found.violations.map((each) =>
        `${each.id}: ${each.nodes.length} times, as ${each.nodes[0].html.slice(0, 150)}`))"""
KINDS = ("index.html", "search.html", "genindex.html", "decisions/README.html")
LARGEST = 10


@pytest.fixture(scope="module")
def site() -> Path:
    """Return the folder of the site, built."""
    pytest.importorskip("sphinx", reason="not installed; make site installs it")
    diagrams.main(diagrams.FOLDER)
    folder = ROOT / "build" / "site"
    subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning"),
            *("--conf-dir", "tools/website/sphinx", "docs", str(folder)),
        ],
        cwd=ROOT,
        check=True,
    )
    return folder


def pages_of(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def of_each_kind(site: Path) -> list[Path]:
    """Return a page of each template, and the largest pages."""
    largest = sorted(pages_of(site), key=lambda page: page.stat().st_size)[-LARGEST:]
    return sorted({site / name for name in KINDS} | set(largest))


async def violations(pages: list[Path], screen: str) -> dict[str, Any]:
    """Return what axe finds on each page that is not accessible."""
    axe = node_file("axe-core/axe.min.js").read_text(encoding="utf-8")
    width, height, phone = SCREENS[screen]
    found = {}
    async with opened(width=width, height=height, phone=phone) as tab:
        for path in pages:
            await tab.page.goto(path.as_uri())
            await tab.page.evaluate(f"{axe}; 0")
            if texts := await tab.page.evaluate(AUDIT):
                found[str(path)] = texts
        assert elsewhere(tab) == []
        assert tab.complaints == []
    return found


def elsewhere(tab: Tab) -> list[str]:
    """Return what was asked for that is no file of this machine."""
    return [url for url in tab.requests if not url.startswith(("file:", "data:"))]


@pytest.mark.parametrize("screen", SCREENS)
async def test_pages_of_each_kind_are_accessible(site: Path, screen: str) -> None:
    """axe finds nothing against WCAG 2.2 A and AA; nothing is asked of the network."""
    assert await violations(of_each_kind(site), screen) == {}


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS)
async def test_all_pages_are_accessible(site: Path, screen: str) -> None:
    """As above, for each page."""
    assert await violations(pages_of(site), screen) == {}


async def test_search_works_offline(site: Path) -> None:
    async with opened() as tab:
        await tab.page.goto((site / "search.html").as_uri() + "?q=receipt")
        found = await tab.page.evaluate(
            "new Promise((done) => { const look = () => {"
            " const links = [...document.querySelectorAll('#search-results li a')];"
            " if (document.querySelector('#search-results .search-summary')?.innerText"
            ".match(/found/)) done(links.map((each) => each.getAttribute('href')));"
            " else setTimeout(look, 50); }; look(); })"
        )

        assert any(re.match(r"how-to/clusters\.html", link) for link in found)
        assert elsewhere(tab) == []
        assert tab.complaints == []
