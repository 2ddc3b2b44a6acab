"""Progress on stderr."""

from __future__ import annotations

import io

from doorkeeper_pipeline.cli.progress import Progress


def told(*stages: tuple[float, str], quiet: bool = False) -> list[str]:
    """Return the lines that stages at times give."""
    times = iter([0.0, *(time for time, _ in stages)])
    stream = io.StringIO()
    progress = Progress(lambda: next(times), quiet=quiet, to=stream)
    for _, text in stages:
        progress(text)
    return stream.getvalue().splitlines()


def test_each_stage_has_a_line_with_its_time() -> None:
    """A stage is told with the seconds since the begin; names move no cursor."""
    assert told((1.5, "reading"), (2, "a\x1b[2J")) == [
        "[    1.5 s] reading",
        r"[    2.0 s] a\x1b[2J",
    ]


def test_counts_come_now_and_then() -> None:
    """Lines that differ in numbers alone come twice a second at most, and the last one always."""
    stages = [(number / 10, f"read {number} of 9 pieces") for number in range(1, 10)]

    assert [line.split("] ")[1] for line in told(*stages)] == [
        "read 1 of 9 pieces",
        "read 6 of 9 pieces",
        "read 9 of 9 pieces",
    ]


def test_quiet() -> None:
    """Nothing is told where nothing is wanted."""
    assert told((1, "reading"), quiet=True) == []
