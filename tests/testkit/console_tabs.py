"""The console in a browser: consoles over files, servers and brokers, and their pages."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.console.page import Settings
from testkit.browser import Tab, opened
from testkit.console_questions import QUESTIONS
from testkit.consoles import ACLS, HEAD, served_over, sets_at, write_advice
from website.node import node_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

AUDIT = """axe.run(document, {preload: false,
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    .then((found) => found.violations.map((each) =>
        `${each.id}: ${each.nodes.length} times, as ${each.nodes[0].html.slice(0, 150)}`))"""

FIELD = re.compile(r'<input (?:"[^"]*"|[^">])*>')

ACCEPTED = ("--accept=networks", "--accept=size")
"""Hosts of the examples are networks, and a test may leave more ACLs than it takes."""

FINDINGS = '{"version": 1, "findings": {"unused:g1": {"kind": "unused", "note": "n"}}}'

OTHER = f"{HEAD}User:alice,Topic,LITERAL,orders,Read,Allow,*\nUser:x,Group,LITERAL,g,Read,Allow,*\n"


@contextmanager
def example_console(folder: Path, live: str = "") -> Iterator[str]:
    """Serve ACLs, those of a store with a history, and a file that differs, with advice.

    The first address is a file, or the live cluster at ``live``, which then has the same ACLs.
    Changes are allowed.
    """
    (folder / "acls.csv").write_text(ACLS, encoding="utf-8")
    (folder / "other.csv").write_text(OTHER, encoding="utf-8")
    write_advice(folder / "advice")
    (folder / "findings.json").write_text(FINDINGS, encoding="utf-8")
    first, store = live or str(folder / "acls.csv"), f"store:{folder / 'data'}"
    command("import", str(folder / "acls.csv"), store)
    if live:
        command("apply", str(folder / "acls.csv"), live, "--whole", "--yes", *ACCEPTED)
    settings = Settings(
        advice=folder / "advice", findings=folder / "findings.json", allow_changes=True
    )
    with served_over(sets_at(first, store, folder / "other.csv"), settings) as url:
        yield url


def command(*words: str) -> str:
    """Run a command about ACLs, and return what it prints."""
    done = CliRunner().invoke(doorkeeper, ["acls", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


@asynccontextmanager
async def looking(console: str, width: int, *, scripts: bool) -> AsyncIterator[Tab]:
    """Open a browser; at the end check that its pages asked nobody else and ran nothing."""
    async with opened(width=width, phone=width < 500, scripts=scripts) as tab:
        yield tab
        assert [url for url in tab.requests if not url.startswith(f"{console}/")] == []
        # HTMX logs a request that a newer one replaces.
        assert [text for text in tab.complaints if not text.startswith("htmx:")] == []
        assert tab.dialogs == []


async def faults(tab: Tab, width: int, *, scripts: bool = True) -> list[str]:
    """Return what is wrong with the page that is open, all details open.

    Without scripts nothing can be evaluated in a page: its markup is looked at.
    """
    found: list[str] = []
    if scripts:
        await tab.page.evaluate(
            "document.querySelectorAll('main details').forEach((e) => { e.open = true; })"
        )
        axe = node_file("axe-core/axe.min.js").read_text(encoding="utf-8")
        await tab.page.evaluate(f"{axe}; 0")
        found = await tab.page.evaluate(AUDIT)
        wide = await tab.page.evaluate("document.documentElement.scrollWidth")
        if wide != width:
            found.append(f"the page is {wide} wide")
    # A field has the very text that was asked for; it is a box of its own.
    if "\u202e" in FIELD.sub("", await tab.page.content()):
        found.append("a direction mark is in the page")
    return [f"{tab.page.url[:200]}: {one}" for one in found]


async def ask(tab: Tab, console: str, name: str) -> None:
    """Ask the question of a page by its form; with a link where it is none of the form."""
    await tab.page.goto(f"{console}/{name}")
    question = QUESTIONS[name]
    form = tab.page.locator("form.question")
    for field, value in question.items():
        one = form.locator(f"[name={field}]:not([type=hidden])")
        if await one.count() == 0:
            query = "&".join(f"{key}={text}" for key, text in question.items())
            await tab.page.goto(f"{console}/{name}?{query}")
            break
        if await form.locator(f"select[name={field}]").count():
            await one.select_option(value)
        else:
            await one.fill(value)
    else:
        await form.locator("button.ask").click()
    await tab.page.locator("#answer textarea.command").first.wait_for()
