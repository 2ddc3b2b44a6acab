"""The words of the code: four numbers for each component, which only get better.

`PYTHONPATH=tests python -m testkit.prose --list` prints them, with the places. A change that
improves a number moves its bound here, so that the next change keeps the improvement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testkit.prose import (
    COMPONENTS,
    is_participle,
    main,
    measure,
    measure_files,
    written_by_hand,
)

if TYPE_CHECKING:
    from testkit.prose import Measurement

# Targets: at most 3, 1 and 8.
SUBJECTS_PER_1000_MAX = {"server": 0.9, "protocol": 0.4, "pipeline": 0.6, "broker": 0.4}
PARTICIPLE_PERCENT_MAX = {"server": 0.6, "protocol": 0.0, "pipeline": 0.0, "broker": 0.0}
SHARED_NAME_PERCENT_MAX = {"server": 1.5, "protocol": 6.7, "pipeline": 5.9, "broker": 0.0}
COMMENT_PERCENT_MIN = 3.0  # of the server

SOURCE = '''\
"""Say who asks; ``who`` and who-can do not count."""

limit = 3  # Kafka's default
"""What a client may send."""


# A comment of
# two lines.
class Told:
    """The same name."""

    def granted(self) -> None:  # noqa: D102
        pass

    def __enter__(self) -> None: ...
    def connection_made(self) -> None: ...


def test_granted() -> None: ...
'''


@pytest.fixture(scope="module", params=COMPONENTS)
def component(request: pytest.FixtureRequest) -> tuple[str, Measurement]:
    return request.param, measure_files(written_by_hand(request.param))


def test_docstrings_name_their_subjects(component: tuple[str, Measurement]) -> None:
    """Docstrings have no more pronouns like "who" and "what" than the bound allows."""
    name, measured = component

    assert measured.subjects_per_1000 <= SUBJECTS_PER_1000_MAX[name]


def test_functions_are_verbs_or_nouns(component: tuple[str, Measurement]) -> None:
    """No more functions are named by a bare participle than the bound allows."""
    name, measured = component

    assert measured.participle_percent <= PARTICIPLE_PERCENT_MAX[name]


def test_class_names_name_one_class(component: tuple[str, Measurement]) -> None:
    """No more class names are the name of several classes than the bound allows."""
    name, measured = component

    assert measured.shared_name_percent <= SHARED_NAME_PERCENT_MAX[name]


def test_surprising_lines_have_comments() -> None:
    """There are no fewer comments for the server's code than the bound demands."""
    measured = measure_files(written_by_hand("server"))

    assert measured.comment_percent >= COMMENT_PERCENT_MIN


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("granted", True),
        ("_told", True),
        ("logged_in", True),
        ("kept_of", True),
        ("is_granted", False),
        ("granted_rows", False),
        ("told_the_client_of", False),
        ("need", False),
        ("read", False),
        ("describe", False),
    ],
)
def test_a_participle_is_distinguished_from_a_verb(name: str, *, expected: bool) -> None:
    """A participle counts alone or before a preposition; a verb with its form does not."""
    assert is_participle(name) is expected


def test_each_place_is_counted_once() -> None:
    """Quoted code, dunders, tests, asyncio's methods and instructions to tools do not count."""
    measured = measure([("a.py", SOURCE), ("b.py", "class Told: ...\nclass Other: ...\n")])

    assert [str(place) for place in measured.subjects] == [
        "a.py:1 who: Say who asks; ``who`` and who-can do not count.",
        "a.py:4 what: What a client may send.",
    ]
    assert [str(place) for place in measured.participles] == ["a.py:12 granted"]
    assert measured.functions == 1
    assert [str(place) for place in measured.shared_classes] == ["a.py:9 Told", "b.py:1 Told"]
    assert (measured.class_names, measured.classes) == (2, 3)
    assert (measured.comment_lines, measured.code_lines) == (3, 9)


def test_the_list_names_places(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints a row for each component, and with --list the places."""
    main([])
    short = capsys.readouterr().out
    main(["--list"])
    long = capsys.readouterr().out

    assert [line.split()[1] for line in short.splitlines()[2:]] == [*COMPONENTS]
    assert long.startswith(short)
    assert "  server/doorkeeper/" in long
    assert "  pipeline/doorkeeper_pipeline/" in long
