"""The keys of the test broker."""

from __future__ import annotations

from testkit.settings import problems_of, settings_of


def test_the_test_broker_is_off() -> None:
    """A server from a file stores no records unless it is told to."""
    assert settings_of("").test_broker_memory_bytes is None
    assert settings_of("doorkeeper.test.broker=true\n").test_broker_memory_bytes == 268_435_456


def test_its_memory_is_bounded() -> None:
    """By a key, which is at least a megabyte."""
    keys = "doorkeeper.test.broker=true\ndoorkeeper.test.broker.memory.bytes="

    assert settings_of(f"{keys}2000000\n").test_broker_memory_bytes == 2_000_000
    (problem,) = problems_of(f"{keys}7\n")
    assert "1048576" in problem


def test_a_shared_store_has_no_test_broker() -> None:
    """Records are of one node: two would each have others."""
    (problem,) = problems_of(
        "doorkeeper.test.broker=true\ndoorkeeper.store=postgresql://u@h/d\nnode.id=1\n"
    )

    assert "doorkeeper.test.broker" in problem
    assert "found true with a shared store" in problem
