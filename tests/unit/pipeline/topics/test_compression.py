"""Compressed batches: every compression of Kafka's, whole, damaged and too large."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.topics import batches
from doorkeeper_pipeline.topics.batches import decompress

DATA = b"".join(b"record %d," % number for number in range(1000))
CODES = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def pack(name: str, data: bytes) -> bytes:
    """Compress, as producers do."""
    if name == "gzip":
        return gzip.compress(data)
    return bytes(pa.compress(data, codec=name, asbytes=True))


def pack_xerial(*blocks: bytes) -> bytes:
    """Return snappy as Java's library frames it."""
    packed = [pack("snappy", block) for block in blocks]
    head = b"\x82SNAPPY\x00" + (1).to_bytes(4) * 2
    return head + b"".join(len(each).to_bytes(4) + each for each in packed)


@pytest.mark.parametrize("name", CODES)
def test_each_compression_round_trips(name: str) -> None:
    assert decompress(CODES[name], pack(name, DATA)) == DATA
    assert decompress(0, DATA) == DATA


def test_java_snappy_framing() -> None:
    """Java's clients send blocks, each after its length."""
    assert decompress(2, pack_xerial(DATA, b"more")) == DATA + b"more"


@pytest.mark.parametrize("name", CODES)
def test_damaged_data_is_rejected(name: str) -> None:
    with pytest.raises(Unreadable, match=f"damaged {name}: "):
        decompress(CODES[name], pack(name, DATA)[:-20])


@pytest.mark.parametrize("name", CODES)
def test_decompressed_size_is_limited(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BYTES_MAX", 1 << 20)

    with pytest.raises(Unreadable, match=r"claims 2097152 bytes|a batch of more than 1 MB"):
        decompress(CODES[name], pack(name, bytes(2 << 20)))


def test_claimed_length_allocates_nothing() -> None:
    with pytest.raises(Unreadable, match="damaged snappy: it claims 268435455 bytes"):
        decompress(2, b"\xff\xff\xff\x7f" + b"\x00" * 10)
