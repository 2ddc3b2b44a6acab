"""The report in a real browser: it asks for nothing, and what can be clicked does what it says."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_pipeline.report.content import report_of
from doorkeeper_pipeline.report.model import About
from doorkeeper_pipeline.report.rendering import html_of
from doorkeeper_pipeline.worlds.shape import SMALL
from doorkeeper_pipeline.worlds.traffic import world_of
from testkit.browser import Page, connected, started
from testkit.report_tables import BEGIN, table_of, tables_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.interop

DENIED = "#denied-hot-spots"
BAD = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "<img src=http://127.0.0.1:9/x.png>",
    '"><svg/onload=alert(4)>',
    "</style><style>*{display:none}</style>",
    "\u202etxt.exe",
    "w" * 3_000,
)


@cache
def html() -> str:
    return html_of(report_of(tables_of(world_of(SMALL), 20_000), About(made=BEGIN, cluster="prod")))


@pytest.fixture(scope="module")
def chromium() -> Iterator[str]:
    """Give the address of a browser; each test gets a tab of its own."""
    with started() as address:
        yield address


@asynccontextmanager
async def opened(chromium: str, folder: Path, text: str) -> AsyncIterator[Page]:
    """Open a text as a page from a file, and check at the end that it asked nobody and is well."""
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    async with connected(chromium) as browser, browser.page() as page:
        await page.size(1280, 900)
        await page.open(path.as_uri())
        yield page
        asked = [url for url in page.requests if url not in (path.as_uri(), "data:,")]
        assert asked == []
        assert page.complaints == []
        assert page.dialogs == []


async def show(page: Page, selector: str) -> None:
    """Scroll to an element: the browser leaves out what is far from the window."""
    await page.value(
        f"new Promise((done) => {{ document.querySelector({selector!r})"
        ".scrollIntoView({behavior: 'instant'});"
        " requestAnimationFrame(() => requestAnimationFrame(done)); })"
    )


async def column(page: Page, table: str, number: int) -> list[str]:
    """Return the texts of a column as they stand now."""
    await show(page, table)
    cells = f"{table} tbody td:nth-child({number})"
    found: list[str] = await page.value(
        f"[...document.querySelectorAll({cells!r})].map((cell) => cell.innerText.trim())"
    )
    return found


async def count(page: Page, table: str) -> str:
    found: str = await page.value(f"document.querySelector('{table} .count').textContent")
    return found


async def test_buttons_sort(chromium: str, tmp_path: Path) -> None:
    """A click on a title sorts, a second one the other way; the state is told to all readers."""
    async with opened(chromium, tmp_path, html()) as page:
        refused = [int(each.replace(",", "")) for each in await column(page, DENIED, 1)]
        assert refused == sorted(refused, reverse=True)

        await page.click(f"{DENIED} th:nth-child(2) button")

        names = await column(page, DENIED, 2)
        assert names == sorted(names, key=str.casefold)
        assert await sorted_by(page) == [None, "ascending", *[None] * 7]

        await page.click(f"{DENIED} th:nth-child(2) button")

        assert await sorted_by(page) == [None, "descending", *[None] * 7]
        assert (await column(page, DENIED, 2))[0] >= names[0]


async def sorted_by(page: Page) -> Any:
    return await page.value(
        f"[...document.querySelectorAll('{DENIED} th')].map((e) => e.getAttribute('aria-sort'))"
    )


async def test_the_keyboard_sorts_too(chromium: str, tmp_path: Path) -> None:
    """Titles are buttons: Enter on a focused one sorts, numbers from the highest."""
    async with opened(chromium, tmp_path, html()) as page:
        await page.value(f"document.querySelector('{DENIED} th:nth-child(1) button').focus()")
        await page.press("Enter")
        await page.press("Enter")

        refused = [int(each.replace(",", "")) for each in await column(page, DENIED, 1)]
        assert refused == sorted(refused)
        assert (await sorted_by(page))[0] == "ascending"


async def test_typing_filters(chromium: str, tmp_path: Path) -> None:
    """Each word that is typed must stand in a row; the number of rows is said."""
    async with opened(chromium, tmp_path, html()) as page:
        await page.click(f"{DENIED} input")
        await page.type("<SCRIPT> describe")

        rows = await page.value(
            f"[...document.querySelectorAll('{DENIED} tbody tr')].map((e) => e.textContent)"
        )
        assert rows
        assert all("<script>" in row and "DESCRIBE" in row for row in rows)
        assert "found, of" in await count(page, DENIED)

        await page.type(" no such name")

        assert (await count(page, DENIED)).startswith("nothing found, of ")


async def test_choices_and_pages(chromium: str, tmp_path: Path) -> None:
    """A choice leaves its rows, arrows turn the pages, and no row gets lost on the way."""
    async with opened(chromium, tmp_path, html()) as page:
        first = await column(page, DENIED, 4)
        await page.click(f"{DENIED} .tools button:last-of-type")
        assert (await count(page, DENIED)).startswith("26\u201350 of ")
        assert await column(page, DENIED, 4) != first

        await page.value(
            f"(() => {{ const s = document.querySelector('{DENIED} select');"
            " s.value = 'WRITE'; s.dispatchEvent(new Event('change')); })()"
        )

        assert set(await column(page, DENIED, 3)) == {"WRITE"}
        assert (await count(page, DENIED)).startswith("1\u2013")


async def test_hostile_names_do_nothing(chromium: str, tmp_path: Path) -> None:
    """Scripts, images and styles in names are text: nothing runs, loads or disappears."""
    rows = [{"principal": name, "count": 5, "reason": name, "resource_name": name, "hosts": [name],
             "host_count": 1, "command": name, "grant_text": name} for name in BAD]  # fmt: skip
    decisions = [{"principal": name, "resource_name": name, "api": name, "count": 1,
                  "minute": BEGIN, "outcome": "DENIED"} for name in BAD]  # fmt: skip
    frames = {
        "decisions": table_of("decisions", decisions),
        "denied": table_of("denied", rows),
        "quarantine": table_of("quarantine", [{"file": name, "text": name} for name in BAD]),
    }
    text = html_of(report_of(frames, About(made=BEGIN, cluster=BAD[0])))

    async with opened(chromium, tmp_path, text) as page:
        await show(page, DENIED)
        shown = await page.value(f"document.querySelector('{DENIED}').innerText")
        assert all(name in shown for name in BAD[:6])
        assert "\\u202etxt.exe" in shown
        assert "\u202e" not in shown
        assert await page.value("document.scripts.length") == 1
        assert await page.value("document.images.length") == 0
        assert await page.value("document.documentElement.scrollWidth <= innerWidth")
        await page.size(360, 740, phone=True)
        assert await page.value("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize(("width", "phone"), [(360, True), (768, False), (1280, False)])
async def test_no_width_makes_the_page_scroll_sideways(
    chromium: str, tmp_path: Path, width: int, *, phone: bool
) -> None:
    """On a phone, a tablet and a desk the page is as wide as the window, all details open."""
    async with opened(chromium, tmp_path, html()) as page:
        await page.size(width, 800, phone=phone)
        await page.value("document.querySelectorAll('details').forEach((e) => { e.open = true; })")

        assert await page.value("document.documentElement.scrollWidth") == width


async def test_letters_have_contrast(chromium: str, tmp_path: Path) -> None:
    """All text colours stand out from their ground by 4.5 to 1, in light and in dark."""
    async with opened(chromium, tmp_path, html()) as page:
        for scheme in ("light", "dark"):
            await page.scheme(scheme)
            colours = await page.value(COLOURS)
            assert colours
            for text, ground in colours:
                assert contrast(text, ground) >= 4.5, (scheme, text, ground)


COLOURS = """(() => {
  const found = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((e) => e.nodeType === 3 && e.data.trim());
    if (!own || element.closest("svg, script, style, :disabled, option") !== null) continue;
    let behind = element, ground;
    do {
      ground = getComputedStyle(behind).backgroundColor;
      behind = behind.parentElement;
    } while (ground === "rgba(0, 0, 0, 0)" && behind);
    found.add(getComputedStyle(element).color + "|" + ground);
  }
  return [...found].map((e) => e.split("|").map((c) => c.match(/\\d+/g).slice(0, 3).map(Number)));
})()"""


def contrast(one: list[int], other: list[int]) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: list[int]) -> float:
    parts = [
        each / 255 / 12.92 if each / 255 <= 0.04045 else ((each / 255 + 0.055) / 1.055) ** 2.4
        for each in colour
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


async def test_without_scripts_everything_is_there(chromium: str, tmp_path: Path) -> None:
    """All rows stand in the page, and nothing is shown that would do nothing."""
    path = tmp_path / "report.html"
    path.write_text(html(), encoding="utf-8")
    async with connected(chromium) as browser, browser.page(scripts=False) as page:
        await page.open(path.as_uri())
        tree = await page.send("DOM.getDocument", depth=0)
        numbers = [
            len((await page.send("DOM.querySelectorAll", nodeId=tree["root"]["nodeId"],
                                 selector=each))["nodeIds"])
            for each in (f"{DENIED} tbody tr", "button", "input", "select", ".tools")
        ]  # fmt: skip

    body = html().split(f'id="{DENIED[1:]}"')[1].split("<tbody>")[1].split("</tbody>")[0]
    assert numbers[0] == body.count("<tr>")
    assert numbers[0] > 100
    assert numbers[1:] == [0, 0, 0, 0]


async def test_every_control_has_a_name(chromium: str, tmp_path: Path) -> None:
    """Whoever hears the page knows what each button, field and region is."""
    async with opened(chromium, tmp_path, html()) as page:
        await page.send("Accessibility.enable")
        tree = await page.send("Accessibility.getFullAXTree")

    roles = ("button", "searchbox", "combobox", "link", "table", "region", "navigation", "group")
    nameless = [
        node
        for node in tree["nodes"]
        if node.get("role", {}).get("value") in roles
        and not node.get("ignored")
        and not node.get("name", {}).get("value")
        and node["role"]["value"] not in ("table", "group")
    ]
    assert nameless == []


async def test_paper_has_more_rows(chromium: str, tmp_path: Path) -> None:
    """No button turns the pages of a table there; afterwards the page is as it was."""
    rows = (
        f"document.querySelector({DENIED!r}).closest('section').querySelectorAll('tbody tr').length"
    )
    denied = [{"principal": f"User:{number}", "count": 1} for number in range(120)]
    frames = {
        "decisions": table_of("decisions", [{"count": 1}]),
        "denied": table_of("denied", denied),
    }
    numbers = []
    async with opened(chromium, tmp_path, html_of(report_of(frames, About(made=BEGIN)))) as page:
        for event in ("none", "beforeprint", "afterprint"):
            await page.value(f"window.dispatchEvent(new Event({event!r}))")
            numbers.append(await page.value(rows))

    assert numbers == [50, 200, 50]


async def test_it_prints(chromium: str, tmp_path: Path) -> None:
    """The page becomes a PDF of a few sheets of paper, on white."""
    async with opened(chromium, tmp_path, html()) as page:
        await page.scheme("dark")
        data = await page.printed()

    assert data.startswith(b"%PDF-")
    assert 4 <= data.count(b"/Type /Page\n") <= 60


async def test_colours_can_be_chosen(chromium: str, tmp_path: Path) -> None:
    """The button goes from automatic to light to dark and says what holds."""
    async with opened(chromium, tmp_path, html()) as page:
        grounds = []
        for _ in range(3):
            await page.click("nav button")
            grounds.append(
                await page.value(
                    "[document.querySelector('nav button').getAttribute('aria-label'),"
                    " getComputedStyle(document.body).backgroundColor]"
                )
            )
            await asyncio.sleep(0)

    assert [label for label, _ in grounds] == ["Colours: light", "Colours: dark", "Colours: auto"]
    assert grounds[0][1] != grounds[1][1]
