"""The page of all APIs and what they ask for is current."""

from __future__ import annotations

import re

from doorkeeper.api.operations import REQUIRED
from doorkeeper.handlers.registry import APIS
from doorkeeper_wire.api_keys import API_NAMES
from testkit import operations_page


def test_the_page_is_current() -> None:
    """If not: PYTHONPATH=tests python -m testkit.operations_page."""
    assert operations_page.PAGE.read_text(encoding="utf-8") == operations_page.page()


def test_every_api_of_kafka_is_on_it() -> None:
    """Each of Kafka's APIs has its row, whether it is served or not."""
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (\S+) \|", operations_page.page(), re.MULTILINE)
    named = {int(key): (name, served) for key, name, served in rows if name in API_NAMES.values()}

    assert {key: name for key, (name, _) in named.items()} == API_NAMES
    assert {key for key, (_, served) in named.items() if served != "-"} == set(APIS)


def test_every_check_is_on_it() -> None:
    """Each operation that an API asks for is one line, with what a denial looks like."""
    text = operations_page.page()

    assert all(
        text.count(f" {need.operation} | {need.resource} | {need.when} |") >= 1
        for needs in REQUIRED.values()
        for need in needs
    )
    assert {need.refusal for needs in REQUIRED.values() for need in needs} == {
        0,
        *operations_page.REFUSALS,
    }
