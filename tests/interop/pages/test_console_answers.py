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
