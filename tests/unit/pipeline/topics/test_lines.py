"""Records as lines of a file, and back."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.topics.lines import RecordLines, as_line


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (b"a line", b"a line\n"),
        (b"a line\r\n", b"a line\n"),
        (b"two\nlines\n", b"two\nlines\n"),
        (b'{\r\n  "a": 1\n}', b'{    "a": 1 }\n'),
        (b" \n", b""),
    ],
)
def test_record_values_are_lines(value: bytes, line: bytes) -> None:
    assert as_line(value) == line


def test_record_positions() -> None:
    with RecordLines() as lines:
        lines.add([(3, b"ab"), (5, None), (9, b"c\nd")])
        lines.add([(12, b"e")])
        lines.complete()

        assert lines.path.read_bytes() == b"ab\nc\nd\ne\n"
        assert [lines.offset_at(place) for place in range(9)] == [3] * 3 + [9] * 4 + [12] * 2
        assert lines.empty == 1
    assert not lines.path.exists()
