"""doorkeeper.dissector.hex_text."""

from __future__ import annotations

from io import BytesIO

import pytest

from doorkeeper.dissector.errors import UnreadableInput
from doorkeeper.dissector.hex_text import hex_digits, hex_dump, is_hex_digits, is_hex_dump

DATA = b"\0\0\0\x1eA, dump | of  two lines.!"
XXD = b"""00000000: 0000 001e 412c 2064 756d 7020 7c20 6f66  ....A, dump | of
00000010: 2020 7477 6f20 6c69 6e65 732e 21           two lines.!
"""
HEXDUMP = b"""00000000  00 00 00 1e 41 2c 20 64  75 6d 70 20 7c 20 6f 66  |....A, dump | of|
00000010  20 20 74 77 6f 20 6c 69  6e 65 73 2e 21           |  two lines.!|
0000001d
"""
WIRESHARK = b"""0000   00 00 00 1e 41 2c 20 64 75 6d 70 20 7c 20 6f 66   ....A, dump | of
0010   20 20 74 77 6f 20 6c 69 6e 65 73 2e 21              two lines.!
"""


@pytest.mark.parametrize("text", [XXD, HEXDUMP, WIRESHARK, XXD.upper().replace(b"\n", b"\r\n")])
def test_dumps(text: bytes) -> None:
    """The bytes of what xxd, hexdump -C and Wireshark print."""
    assert is_hex_dump(text)
    assert b"".join(hex_dump(BytesIO(text))) == DATA


def test_repeated_lines() -> None:
    """hexdump -C prints * for them."""
    line = b"00 " * 15 + b"00"
    text = b"00000000  " + line + b"\n*\n00000030  61\n00000031\n"

    assert b"".join(hex_dump(BytesIO(text))) == bytes(48) + b"a"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"0000: 6161\nhello\n", "line 2 is no line of a hex dump"),
        (b"0000: 6161\n0003: 61\n", "line 2: offset 0x3, expected is 0x2"),
        (b"0000: 6161\n*\n0005: 61\n", "line 3: offset 0x5, expected is 0x2"),
        (b"0000: 6161\n*\nffffffff0: 61\n", "line 3 repeats 68719476718 bytes; at most 104857600"),
        (b"0000: 6161\n*\n0000: 61\n", "line 3: offset 0x0, expected is 0x2"),
    ],
)
def test_damaged_dumps(text: bytes, reason: str) -> None:
    """The line is named."""
    with pytest.raises(UnreadableInput, match=reason):
        list(hex_dump(BytesIO(text)))


@pytest.mark.parametrize("text", [b"00 01\n02FF", b"000102ff", b" 0 0 0 1\t02 fF\n"])
def test_digits(text: bytes) -> None:
    """White space may stand anywhere."""
    assert is_hex_digits(text)
    assert b"".join(hex_digits(BytesIO(text))) == b"\0\1\2\xff"


@pytest.mark.parametrize(
    ("text", "reason"),
    [(b"00 0g", "byte 4: b'g' is no hexadecimal digit"), (b"000", "an odd number")],
)
def test_wrong_digits(text: bytes, reason: str) -> None:
    """What is found, and where."""
    with pytest.raises(UnreadableInput, match=reason):
        list(hex_digits(BytesIO(text)))


@pytest.mark.parametrize("head", [b"", b"\0\0\0\1", b" \n", b"hello", b"00: 61"])
def test_other_beginnings(head: bytes) -> None:
    """Neither digits nor a dump."""
    assert not is_hex_digits(head)
    assert not is_hex_dump(head)
