"""The levels of loggers in ``doorkeeper.log.levels``."""

from __future__ import annotations

from doorkeeper.server.config.raw_config import KeyPath, RawConfig

LEVELS = {
    "TRACE": 5,
    "DEBUG": 10,
    "INFO": 20,
    "WARN": 30,
    "WARNING": 30,
    "ERROR": 40,
    "FATAL": 50,
    "OFF": 60,
}
"""Kafka's names, with numbers as in Python's ``logging``; 5 and 60 lie outside of its own."""

ROOT = "root"


def levels_of(given: RawConfig) -> dict[str, int]:
    """Return the level of each named logger; record invalid ones."""
    place = KeyPath("doorkeeper.log.levels")
    levels: dict[str, int] = {}
    for text in given.list(place.key):
        logger, equals, level = (part.strip() for part in text.partition("="))
        if equals and logger and level.upper() in LEVELS:
            levels[logger] = LEVELS[level.upper()]
        else:
            allowed = f"allowed: logger=level with one of {', '.join(LEVELS)}"
            given.problem(place, f"found {text!r}; {allowed}")
    return levels
