"""The report in a real browser: it asks for nothing, and what can be clicked does what it says."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_pipeline.report.model import About
from doorkeeper_pipeline.report.rendering import html_parts
from doorkeeper_pipeline.report.writing import report_of
from synthetic.shape import SMALL
from synthetic.traffic import world_of
from testkit.browser import Tab, opened
from testkit.report_tables import BEGIN, table_of, tables_of
from website.node import node_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.interop

# Without preload axe fetches no style sheets, which a page from a file may not.
AUDIT = """axe.run(document, {preload: false,
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    .then((found) => found.violations.map((each) =>
        `${each.id}: ${each.nodes.length} times, as ${each.nodes[0].html.slice(0, 150)}`))"""

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
    return "".join(
        html_parts(report_of(tables_of(world_of(SMALL), 20_000), About(made=BEGIN, cluster="prod")))
    )


@asynccontextmanager
async def report(
    folder: Path, text: str, *, width: int = 1280, phone: bool = False
) -> AsyncIterator[Tab]:
    """Open a text as a page from a file; at the end check that it requested nothing else."""
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    async with opened(width=width, phone=phone) as tab:
        await tab.page.goto(path.as_uri())
        yield tab
        requested = [url for url in tab.requests if url not in (path.as_uri(), "data:,")]
        assert requested == []
        assert tab.complaints == []
        assert tab.dialogs == []


async def show(tab: Tab, selector: str) -> None:
    """Scroll to an element: the browser leaves out what is far from the window."""
    await tab.page.evaluate(
        f"new Promise((done) => {{ document.querySelector({selector!r})"
        ".scrollIntoView({behavior: 'instant'});"
        " requestAnimationFrame(() => requestAnimationFrame(done)); })"
    )


async def column(tab: Tab, table: str, number: int) -> list[str]:
    """Return the texts of a column as they stand now."""
    await show(tab, table)
    cells = f"{table} tbody td:nth-child({number})"
    found: list[str] = await tab.page.evaluate(
        f"[...document.querySelectorAll({cells!r})].map((cell) => cell.innerText.trim())"
    )
    return found


async def count(tab: Tab, table: str) -> str:
    found: str = await tab.page.evaluate(f"document.querySelector('{table} .count').textContent")
    return found


async def test_columns_are_sortable(tmp_path: Path) -> None:
    async with report(tmp_path, html()) as tab:
        refused = [int(each.replace(",", "")) for each in await column(tab, DENIED, 1)]
        assert refused == sorted(refused, reverse=True)

        await tab.page.click(f"{DENIED} th:nth-child(2) button")

        names = await column(tab, DENIED, 2)
        assert names == sorted(names, key=str.casefold)
        assert await sorted_by(tab) == [None, "ascending", *[None] * 7]

        await tab.page.click(f"{DENIED} th:nth-child(2) button")

        assert await sorted_by(tab) == [None, "descending", *[None] * 7]
        assert (await column(tab, DENIED, 2))[0] >= names[0]


async def sorted_by(tab: Tab) -> Any:
    return await tab.page.evaluate(
        f"[...document.querySelectorAll('{DENIED} th')].map((e) => e.getAttribute('aria-sort'))"
    )


async def test_typing_filters_rows(tmp_path: Path) -> None:
    async with report(tmp_path, html()) as tab:
        await tab.page.click(f"{DENIED} input")
        await tab.page.keyboard.type("<SCRIPT> describe")

        rows = await tab.page.evaluate(
            f"[...document.querySelectorAll('{DENIED} tbody tr')].map((e) => e.textContent)"
        )
        assert rows
        assert all("<script>" in row and "DESCRIBE" in row for row in rows)
        assert "found, of" in await count(tab, DENIED)

        await tab.page.keyboard.type(" no such name")

        assert (await count(tab, DENIED)).startswith("nothing found, of ")


async def test_choices_and_pages(tmp_path: Path) -> None:
    """A choice leaves its rows, arrows turn the pages, and no row gets lost on the way."""
    async with report(tmp_path, html()) as tab:
        first = await column(tab, DENIED, 4)
        await tab.page.click(f"{DENIED} .tools button:last-of-type")
        assert (await count(tab, DENIED)).startswith("26\u201350 of ")
        assert await column(tab, DENIED, 4) != first

        await tab.page.evaluate(
            f"(() => {{ const s = document.querySelector('{DENIED} select');"
            " s.value = 'WRITE'; s.dispatchEvent(new Event('change')); })()"
        )

        assert set(await column(tab, DENIED, 3)) == {"WRITE"}
        assert (await count(tab, DENIED)).startswith("1\u2013")


async def test_hostile_names_are_inert(tmp_path: Path) -> None:
    rows = [{"principal": name, "count": 5, "cause": name, "resource_name": name, "hosts": [name],
             "host_count": 1, "command": name, "grant_text": name, "advice": name}
            for name in BAD]  # fmt: skip
    decisions = [{"principal": name, "resource_name": name, "api": name, "count": 1,
                  "minute": BEGIN, "outcome": "DENIED"} for name in BAD]  # fmt: skip
    frames = {
        "decisions": table_of("decisions", decisions),
        "denied": table_of("denied", rows),
        "quarantine": table_of("quarantine", [{"file": name, "text": name} for name in BAD]),
    }
    text = "".join(html_parts(report_of(frames, About(made=BEGIN, cluster=BAD[0]))))

    async with report(tmp_path, text) as tab:
        await show(tab, DENIED)
        shown = await tab.page.evaluate(f"document.querySelector('{DENIED}').innerText")
        assert all(name in shown for name in BAD[:6])
        assert "\\u202etxt.exe" in shown
        assert "\u202e" not in shown
        assert await tab.page.evaluate("document.scripts.length") == 1
        assert await tab.page.evaluate("document.images.length") == 0
        assert await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await tab.page.set_viewport_size({"width": 360, "height": 740})
        assert await tab.page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize(("width", "phone"), [(360, True), (768, False), (1280, False)])
async def test_page_never_scrolls_horizontally(tmp_path: Path, width: int, *, phone: bool) -> None:
    async with report(tmp_path, html(), width=width, phone=phone) as tab:
        await tab.page.evaluate(
            "document.querySelectorAll('details').forEach((e) => { e.open = true; })"
        )

        assert await tab.page.evaluate("document.documentElement.scrollWidth") == width


async def test_page_is_complete_without_scripts(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(), encoding="utf-8")
    async with opened(scripts=False) as tab:
        await tab.page.goto(path.as_uri())
        rows = await tab.page.locator(f"{DENIED} tbody tr").count()
        controls = await tab.page.locator("button, input, select, .tools").count()

    body = html().split(f'id="{DENIED[1:]}"')[1].split("<tbody>")[1].split("</tbody>")[0]
    assert rows == body.count("<tr>")
    assert rows > 100
    assert controls == 0


def findings() -> list[dict[str, Any]]:
    """Return 371 findings of 70 principals, with names and questions of a usual length."""
    about = {"grants": 14, "severity": "MEDIUM", "first_seen": BEGIN, "host": "*"}
    rows = []
    for number in range(371):
        principal = f"User:CN=shipping-svc-{number % 70:02},OU=orders,O=Example,C=DE"
        is_safe = number % 3 > 0
        row = {**about, "principal": principal, "finding_id": str(number)}
        row |= {"action": "SAFE", "cause": "unused"} if is_safe else {"action": "DECIDE"}
        row |= {} if is_safe else {"cause": "refused"}
        row["why"] = f"{principal} was refused in 91 of 180 requests: what does it lack?"
        row["subject"] = f"DESCRIBE_CONFIGS on TOPIC shipping_dead-letters_{number} from 10.0.0.42"
        rows.append(row)
    return rows


async def test_printed_decisions_take_two_pages(tmp_path: Path) -> None:
    """Of 371 findings, on A4 with margins of 12 mm; a head that pages repeat has its text."""
    asked = '{"super_users": ["User:admin"], "thresholds": {"days": 35}}'
    run = {"command": "run", "started": BEGIN, "finished": BEGIN, "cluster": "lkc-1"}
    runs = [{**run, "listed": [BEGIN], "asked": asked}]
    frames = {
        "decisions": table_of("decisions", [{"count": 1, "day": BEGIN.date()}]),
        "grant_usage": table_of("grant_usage", []),
        "unused_grants": table_of("unused_grants", []),
        "findings": table_of("findings", findings()),
        "runs": table_of("runs", runs),
    }
    text = "".join(html_parts(report_of(frames, About(made=BEGIN, cluster="prod"))))

    async with report(tmp_path, text, width=703) as tab:
        await tab.page.emulate_media(media="print")
        millimetres = await tab.page.evaluate(
            "['header', '#decide', '#safe'].map((name) => document.querySelector(name))"
            ".reduce((sum, each) => sum + each.getBoundingClientRect().height, 0) * 25.4 / 96"
        )
        heads = await tab.page.evaluate(
            "[...document.querySelectorAll('th button')]"
            ".filter((each) => getComputedStyle(each).display !== 'contents').length"
        )

    # Where a page breaks, half a row of white is left.
    assert 300 < millimetres < 2 * (297 - 24) - 20
    assert heads == 0


@pytest.mark.parametrize("width", [390, 1280])
async def test_report_is_accessible(tmp_path: Path, width: int) -> None:
    """axe-core finds no violation of WCAG 2.2 A and AA, on a phone and on a desk."""
    axe = node_file("axe-core/axe.min.js").read_text(encoding="utf-8")
    async with report(tmp_path, html(), width=width) as tab:
        # Boxes that are laid out while axe measures would lie on others of an earlier layout.
        await tab.page.evaluate(
            "document.querySelectorAll('.sheet').forEach("
            "(each) => { each.style.contentVisibility = 'visible'; })"
        )
        await tab.page.evaluate(f"{axe}; 0")
        violations = await tab.page.evaluate(AUDIT)

    assert violations == []
