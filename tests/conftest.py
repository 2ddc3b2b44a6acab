"""Settings for all tests, and an honest last word on what a run left out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

# Two cores shared with servers and browsers of others: a deadline would measure them, not us.
settings.register_profile(
    "doorkeeper", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("doorkeeper")

REASONS = {
    "interop": "needs real Kafka or foreign clients: make interop-quick, make test-all",
    "slow": "takes long: make test-all",
}
_left_out: Counter[tuple[str, str]] = Counter()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Remember what was deselected because of a marker."""
    for item in items:
        for marker, reason in REASONS.items():
            if item.get_closest_marker(marker) is not None:
                _left_out[item.location[0], reason] += 1
                break


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each file of which tests were left out, with the number and the way to run them."""
    if not _left_out:
        return
    terminalreporter.section("not run here")
    for (path, reason), count in sorted(_left_out.items()):
        terminalreporter.write_line(f"{path}: {count} ({reason})")
