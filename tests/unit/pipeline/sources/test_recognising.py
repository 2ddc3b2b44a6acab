"""What a file is."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.sources.recognising import form_of

LOG = b"[2024-10-25 10:11:12,345] INFO Principal = "


def source_of(beginning: bytes) -> str | None:
    """Return the source of a file with this beginning."""
    found = form_of(beginning)
    return found and found.source


@pytest.mark.parametrize(
    ("beginning", "source"),
    [
        (LOG, "authorizer-log"),
        (b"rest of a torn record\n" + LOG, "authorizer-log"),
        (b'{"kind": "start", "seq": 1}\n', "trail"),
        (b'{torn\n{"kind": "start", "seq": 1}\n', "trail"),
        (b'\xef\xbb\xbf{"class_uid": 6003}\n', "ocsf"),
        (b'{"specversion": "1.0"}', "cloudevents"),
        (b'{"some": "object"}\n', None),
        (b"hello\n", None),
        (b"[[[[\n", None),
    ],
)
def test_the_first_line_that_tells(beginning: bytes, source: str | None) -> None:
    """A file is what the first line says that says anything."""
    assert source_of(beginning) == source
