"""The console in a real browser: each question is asked by its form, and answered on a page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testkit.console_questions import QUESTIONS
from testkit.console_tabs import ask, example_console, faults, looking


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with example_console(tmp_path_factory.mktemp("console")) as url:
        yield url


@pytest.mark.parametrize(("width", "scripts"), [(390, True), (1280, False)])
async def test_each_question_has_an_accessible_answer(
    console: str, width: int, *, scripts: bool
) -> None:
    """On a phone with scripts, for axe-core too (WCAG 2.2 AA), and on a desk without."""
    found: list[str] = []
    async with looking(console, width, scripts=scripts) as tab:
        for name in QUESTIONS:
            await ask(tab, console, name)
            found += await faults(tab, width, scripts=scripts)

    assert found == []


async def test_rows_that_are_typed_and_sent_add_up_to_one_change(console: str) -> None:
    """Typing shows what a row would do, and the button keeps it; no key press is refused."""
    async with looking(console, 1280, scripts=True) as tab:
        page, refused = tab.page, []
        page.on("response", lambda one: refused.append(one.url) if one.status >= 400 else None)
        await page.goto(f"{console}/what-if")
        for name in ("first", "second"):
            await page.locator("#f-principal").press_sequentially("User:zoe")
            await page.locator("#f-name").press_sequentially(name)
            await page.locator("#answer .mono", has_text=f"LITERAL,{name},").wait_for()
            await page.locator("button.ask").click()
            await page.locator(f"input[name=add][value*={name}]").wait_for(state="attached")
        kept = await page.locator("input[name=add]").evaluate_all(
            "(all) => all.map((e) => e.value)"
        )
        typed = await page.locator("#f-name").input_value()

    assert kept == [f"User:zoe,TOPIC,LITERAL,{name},READ,ALLOW,*" for name in ("first", "second")]
    assert typed == ""
    assert refused == []
