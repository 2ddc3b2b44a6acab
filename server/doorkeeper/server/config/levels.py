"""The levels of loggers in ``doorkeeper.log.levels``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from doorkeeper.base.values import NotAllowed

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


def levels_of(texts: Iterable[str]) -> Mapping[str, int]:
    """Read the level of each named logger."""
    levels: dict[str, int] = {}
    wrong = []
    for text in filter(None, texts):
        logger, equals, level = (part.strip() for part in text.partition("="))
        if equals and logger and level.upper() in LEVELS:
            levels[logger] = LEVELS[level.upper()]
        else:
            wrong.append(text)
    if wrong:
        raise NotAllowed(wrong, f"logger=level with one of {', '.join(LEVELS)}")
    return levels
