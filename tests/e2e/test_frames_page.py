"""``docs/how-to/frames.md`` shows what ``doorkeeper frames`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.dissector.capture_files import PACKET_BYTES_MAX
from doorkeeper.dissector.frame_cutter import FRAME_BYTES_MAX
from doorkeeper.dissector.inputs import CONNECTIONS_MAX, HELD_BYTES_MAX
from doorkeeper.dissector.tcp_streams import HELD_BYTES_MAX as STREAM_BYTES_MAX
from testkit.checkout import ROOT
from testkit.page_commands import Reader, commands, page

if TYPE_CHECKING:
    from pathlib import Path

PAGE = page("frames.md")


@pytest.mark.parametrize(("command", "shown"), commands(PAGE), ids=["text", "json"])
def test_what_is_shown_is_printed(command: str, shown: str, tmp_path: Path) -> None:
    """Letter by letter, stderr too, in a shell at the top of the checkout."""
    assert Reader(ROOT, tmp_path).run(command) == shown


def test_the_limits_are_those_of_the_code() -> None:
    """Each number of the page is the one that counts."""
    mebibyte = 1024 * 1024

    assert f"default {FRAME_BYTES_MAX}" in PAGE
    assert f"{CONNECTIONS_MAX:,} connections" in PAGE
    assert f"{HELD_BYTES_MAX // mebibyte} MiB of unfinished frames" in PAGE
    assert f"{STREAM_BYTES_MAX // mebibyte} MiB of segments out of order" in PAGE
    assert f"a packet has at most {PACKET_BYTES_MAX // mebibyte} MiB" in PAGE
