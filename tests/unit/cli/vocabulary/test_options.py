"""The table of options: one name, one meaning."""

from __future__ import annotations

from collections import Counter

import click
import pytest
from click.testing import CliRunner

from doorkeeper.cli.vocabulary.commands import HEADINGS, Command, Group, Option
from doorkeeper.cli.vocabulary.options import VOCABULARY
from testkit.command_tree import PROGRAMS, commands, options

CLICKS_OWN = {"--version"}
SHORT = {"-c": "--config", "-q": "--quiet"}


OWN_TEXTS = {
    "doorkeeper acls apply": {"--own-prefix", "--own-principal", "--own-type"},
    "doorkeeper acls plan": {"--own-prefix", "--own-principal", "--own-type"},
    "doorkeeper clusters adopt": {"--cluster-name"},
    "doorkeeper clusters drift": {"--cluster-name"},
    "doorkeeper clusters status": {"--cluster-name"},
    "doorkeeper config init": {"--overwrite"},
    "doorkeeper learn": {"--log"},
    "doorkeeper store backup": {"--overwrite"},
    "doorkeeper store copy": {"--overwrite"},
    "doorkeeper store create": {"--overwrite"},
    "doorkeeper watch": {"--since"},
    "doorkeeper-pipeline report": {"--findings", "--since"},
    "doorkeeper-pipeline run": {"--cluster-name", "--since"},
}
"""The options for which the text of the table would not be true, by command."""


def long_name(option: click.Option) -> str:
    return next(each for each in option.opts if each.startswith("--"))


def test_all_options_are_in_the_table() -> None:
    """Each option of each command has the heading of the table, and its text but for a few."""
    own: dict[str, set[str]] = {}
    for words, option in options():
        name = long_name(option)
        if name in CLICKS_OWN:
            continue

        assert isinstance(option, Option), (words, name)
        meaning = VOCABULARY[name]
        assert option.heading == meaning.heading, (words, name)
        if option.meaning != meaning.text:
            own.setdefault(words, set()).add(name)
    assert own == OWN_TEXTS


def test_all_rows_of_the_table_are_options() -> None:
    """An option that no command has any more leaves the table."""
    assert set(VOCABULARY) == {long_name(each) for _, each in options()} - CLICKS_OWN


def test_short_options_have_one_meaning() -> None:
    """-c is --config in each command that has it."""
    for words, option in options():
        for short in set(option.opts) - {long_name(option)} - {"-h"}:
            assert SHORT[short] == long_name(option), words


def test_option_texts_are_unique() -> None:
    texts = Counter(each.text for each in VOCABULARY.values())

    assert [text for text, count in texts.items() if count > 1] == []


def test_option_texts_are_sentences() -> None:
    for name, (heading, metavar, text) in VOCABULARY.items():
        assert heading in HEADINGS, name
        assert text.endswith("."), name
        assert metavar is None or metavar == metavar.upper(), name


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (["doorkeeper", "acls", "exlain"], "No such command 'exlain'. Did you mean 'explain'?"),
        (["doorkeeper", "serv"], "No such command 'serv'. Did you mean 'serve'?"),
        (["doorkeeper-pipeline", "runn"], "No such command 'runn'. Did you mean 'run'?"),
        (["doorkeeper", "acls", "xyz"], "No such command 'xyz'."),
    ],
)
def test_unknown_commands_suggest_similar_ones(words: list[str], suggestion: str) -> None:
    program, *rest = words

    result = CliRunner().invoke(PROGRAMS[program], rest)

    assert result.exit_code == 2
    assert result.stderr.endswith(f"Error: {suggestion}\n")


def test_all_commands_suggest_and_have_headings() -> None:
    """Commands and groups are of the classes that both programs share."""
    for words, command in commands():
        assert isinstance(command, (Command, Group)), words
