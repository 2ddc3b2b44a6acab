"""Which levels of which loggers are written."""

from doorkeeper.server.operations.logs.thresholds import Thresholds


def test_a_logger_has_its_parents_level() -> None:
    """The nearest name that has a level decides; INFO where none has."""
    thresholds = Thresholds({"kafka": 30, "kafka.authorizer.logger": 10})

    assert thresholds.of("kafka.authorizer.logger").level == 10
    assert thresholds.of("kafka.authorizer").level == 30
    assert thresholds.of("kafkaesque").level == 20


def test_levels_change_for_loggers_in_use() -> None:
    """A threshold that somebody holds follows when levels are set anew."""
    thresholds = Thresholds({})
    held = thresholds.of("doorkeeper.net")

    thresholds.replace({"doorkeeper": 5})

    assert held.level == 5
    assert thresholds.of("doorkeeper.net") is held
