"""Bytes held over all connections."""

from __future__ import annotations

from doorkeeper.net.ledger import Ledger


def test_the_sum_follows_its_parts() -> None:
    """Each holder counts with what it holds now; who holds nothing is forgotten."""
    ledger: Ledger[str] = Ledger(100)

    assert not ledger.hold("a", 60)
    assert not ledger.hold("b", 40)
    assert ledger.hold("b", 41)
    assert (ledger.total, ledger.largest(), ledger.bytes_of("b")) == (101, "a", 41)
    assert not ledger.hold("a", 0)

    assert (ledger.total, ledger.largest(), ledger.bytes_of("a")) == (41, "b", 0)
    assert len(ledger._held) == 1
