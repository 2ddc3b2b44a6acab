"""Bytes of files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import zstandard

from doorkeeper_pipeline.errors import Damaged, Unreadable
from doorkeeper_pipeline.sources import reading

if TYPE_CHECKING:
    from pathlib import Path

DATA = bytes(range(256)) * 40


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.fixture(params=["", *PACKERS])
def compressed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Return a file and how it is compressed."""
    pack = PACKERS.get(request.param, bytes)
    path = tmp_path / "file"
    path.write_bytes(pack(DATA))
    return path, request.param


def test_blocks_form_the_file(compressed: tuple[Path, str]) -> None:
    path, how = compressed
    found = list(reading.blocks(path, how, size=1000))

    assert reading.compression(path) == how
    assert b"".join(block for _, block in found) == DATA
    assert [offset for offset, _ in found] == list(range(0, len(DATA), 1000))
    assert reading.head(path, how, 300) == DATA[:300]


def test_concatenated_frames_are_read(tmp_path: Path) -> None:
    for how, pack in PACKERS.items():
        path = tmp_path / how
        path.write_bytes(pack(b"one") + pack(b"two"))
        assert list(reading.blocks(path, how)) == [(0, b"onetwo")]


@pytest.mark.parametrize("zeros", [1, 512, 2 * reading.PACKED_BYTES])
def test_zeros_behind_gz_are_padding(tmp_path: Path, zeros: int) -> None:
    """As of a tape, or of a copy in blocks; between members too, as gzip has it."""
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"one") + bytes(zeros) + gzip.compress(b"two") + bytes(zeros))

    assert list(reading.blocks(path, "gz")) == [(0, b"onetwo")]


@pytest.mark.parametrize(("how", "pack"), PACKERS.items())
def test_damaged_file_is_reported(tmp_path: Path, how: str, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "file"
    data = bytearray(pack(DATA))
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data[:-4])

    with pytest.raises(Unreadable, match="file: damaged"):
        list(reading.blocks(path, how))


@pytest.mark.parametrize(("how", "pack"), list(PACKERS.items())[:2])
def test_content_before_the_damage_is_read(
    tmp_path: Path, how: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "file"
    whole = pack(b"one") + pack(random.Random(1).randbytes(600_000))
    path.write_bytes(whole[: len(whole) // 2])

    blocks = reading.blocks(path, how, size=1000)
    found = [next(blocks)]
    with pytest.raises(Damaged, match=f"file: damaged {how}"):
        found.extend(blocks)

    data = b"".join(block for _, block in found)
    assert data.startswith(b"one")
    assert len(data) >= (200_000 if how == "gz" else 1000)
    assert reading.head(path, how, 3) == b"one"
