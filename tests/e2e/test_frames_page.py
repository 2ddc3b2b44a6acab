"""``docs/how-to/frames.md`` shows what ``doorkeeper frames`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testkit.checkout import ROOT
from testkit.page_commands import Reader, commands, page

if TYPE_CHECKING:
    from pathlib import Path

PAGE = page("frames.md")


@pytest.mark.parametrize(("command", "shown"), commands(PAGE), ids=["text", "json"])
def test_what_is_shown_is_printed(command: str, shown: str, tmp_path: Path) -> None:
    """Letter by letter, stderr too, in a shell at the top of the checkout."""
    assert Reader(ROOT, tmp_path).run(command) == shown
