"""The levels of loggers."""

from doorkeeper.config.entry import Entry
from doorkeeper.config.keys import KEYS
from doorkeeper.config.levels import levels_of
from doorkeeper.config.raw_config import KeyPath, RawConfig

KEY = KEYS["doorkeeper.log.levels"]


def given_of(text: str) -> RawConfig:
    given = RawConfig()
    given.add(Entry(KEY.name, text, "f"), KeyPath(KEY.name), KEY)
    return given


def test_levels_by_logger() -> None:
    """Kafka's names of levels count, in any case."""
    given = given_of("root=warn, kafka.authorizer.logger = TRACE,x=OFF")

    assert levels_of(given) == {"root": 30, "kafka.authorizer.logger": 5, "x": 60}
    assert given.problems == []


def test_what_is_no_level() -> None:
    """Each element that is none is told, with what is allowed."""
    given = given_of("root,x=LOUD,=INFO")

    assert levels_of(given) == {}
    assert len(given.problems) == 3
    assert "found 'x=LOUD'; allowed: logger=level with one of TRACE, DEBUG" in str(
        given.problems[1]
    )
