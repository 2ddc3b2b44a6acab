"""doorkeeper.dissector.input_formats."""

from __future__ import annotations

import os
from io import BytesIO, UnsupportedOperation

import pytest

from doorkeeper.dissector.errors import UnreadableInput
from doorkeeper.dissector.input_formats import format_of, with_head
from testkit.captures import pcap, pcapng


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (pcap([]), "pcap"),
        (pcap([], order=">"), "pcap"),
        (pcapng([]), "pcap"),
        (b"\x4d\x3c\xb2\xa1", "pcap"),
        (b"\0\0\0\1a", "raw"),
        (b"", "raw"),
        (b"0000 0001\n61", "hex"),
        (b"00000000: 0000 0001 61  ....a\n", "hex"),
        (b"00000000  00 00 00 01 61  |....a|\n", "hex"),
        (b"\x0a\x0d\x0d\x0a\0\0\0\x1c????", "raw"),
        (b"no frames", "raw"),
    ],
)
def test_formats(head: bytes, name: str) -> None:
    """Magic numbers, then text, then everything else."""
    assert format_of(head) == name


def test_the_head_is_read_again() -> None:
    """The stream has all bytes, those of the head too."""
    data = bytes(range(256)) * 100

    head, stream = with_head(BytesIO(data))

    assert data.startswith(head)
    assert len(head) >= 16
    assert stream.read() == data


def test_a_pipe_that_is_still_written() -> None:
    """No more than the first bytes are waited for."""
    out, into = os.pipe()
    os.write(into, b"x" * 20)
    with open(out, "rb") as plain:  # noqa: PTH123 - a descriptor
        head, stream = with_head(plain)
        found = stream.read(20)
        os.close(into)

        assert (head, found, stream.read()) == (b"x" * 20, b"x" * 20, b"")


class Broken(BytesIO):
    """A stream that fails after some bytes."""

    def read1(self, size: int | None = -1, /) -> bytes:
        found = super().read1(size)
        if not found:
            raise OSError(5, "Input/output error")
        return found


def test_a_stream_that_cannot_be_read() -> None:
    """At once or later, the error says why."""
    with pytest.raises(UnreadableInput, match="Input/output error"):
        with_head(Broken(b"few"))
    _, stream = with_head(Broken(bytes(100)))
    with pytest.raises(UnreadableInput, match="Input/output error"):
        stream.read()
    with pytest.raises(UnsupportedOperation):
        stream.seek(0)
