"""The table of limits."""

from __future__ import annotations

from doorkeeper.limits import UNLIMITED, Limits
from testkit import limits_page


def test_the_page_of_limits_is_current() -> None:
    """docs/reference/limits.md is what the table gives."""
    assert limits_page.PAGE.read_text(encoding="utf-8") == limits_page.page()


def test_each_limit_has_its_reason() -> None:
    """No number stands without a sentence on why."""
    assert [name for name, field in Limits.FIELDS.items() if len(field.about["why"]) < 40] == []


def test_the_defaults_are_kafkas() -> None:
    """What has a key of Kafka's has Kafka's default."""
    limits = Limits()

    assert limits.frame_bytes_max == 104_857_600
    assert limits.sasl_frame_bytes_max == 524_288
    assert limits.connections_max == limits.connections_per_ip_max == UNLIMITED
    assert (limits.idle_ms, limits.failed_authentication_delay_ms) == (600_000, 100)
    assert limits.backlog == 50
