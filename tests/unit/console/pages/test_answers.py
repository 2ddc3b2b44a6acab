"""The pages of the console: their answers are those of the commands that they show."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.console.pages import PAGES

LINE = (
    "[2026-11-01 10:11:12,345] INFO Principal = User:bob is Denied operation = WRITE from host ="
    " 10.0.0.7 on resource = Topic:LITERAL:orders for request = Produce with resourceRefCount = 1"
    " based on rule DefaultDeny (kafka.authorizer.logger)"
)

QUESTIONS: dict[str, dict[str, str]] = {
    "who-can": {"name": "orders"},
    "why": {"line": LINE},
    "what-can": {"principal": "User:bob"},
}
"""A question for each page."""

COMMAND = re.compile(r'<textarea id="line-1"[^>]*>(.*?)</textarea>', re.DOTALL)


def command_line(page: str) -> list[str]:
    """Return the words of the command line that a page shows."""
    match = COMMAND.search(page)
    assert match is not None, page
    program, *words = shlex.split(unescape(match[1]))
    assert program == "doorkeeper"
    return words


def test_each_page_has_a_question_here() -> None:
    """A new page is tested like the others."""
    assert [page.name for page in PAGES] == list(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_json_is_what_the_command_line_prints(console: TestClient, name: str) -> None:
    """The command line of a page, run as such, prints the JSON that the page offers."""
    page = console.get(f"/{name}", params=QUESTIONS[name])
    words = command_line(page.text)

    printed = CliRunner().invoke(doorkeeper, [*words, "--output", "json"])
    offered = console.get(f"/{name}.json", params=QUESTIONS[name])

    assert page.status_code == offered.status_code == 200
    assert json.loads(offered.text) == json.loads(printed.stdout)


@pytest.mark.parametrize("name", QUESTIONS)
def test_markdown_has_the_command_and_its_text(console: TestClient, name: str) -> None:
    """It is a block with the command line, and one with what that prints."""
    words = command_line(console.get(f"/{name}", params=QUESTIONS[name]).text)

    printed = CliRunner().invoke(doorkeeper, words)
    markdown = console.get(f"/{name}.md", params=QUESTIONS[name]).text

    assert f"$ doorkeeper {shlex.join(words)}" in markdown
    assert printed.stdout.strip() in markdown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_empty_forms_have_no_answer(console: TestClient, page: object) -> None:
    """A page without a question shows its form, and neither an error nor a command."""
    answer = console.get(f"/{page.name}")  # type: ignore[attr-defined]

    assert answer.status_code == 200
    assert "<form" in answer.text
    assert COMMAND.search(answer.text) is None
    assert 'role="alert"' not in answer.text


def test_who_can_names_the_deciding_acl(console: TestClient) -> None:
    """A principal is shown with the hosts from which it may, and the ACL that allows it."""
    who = console.get("/who-can.json", params={"name": "orders"}).json()["who"]
    by_name = {row["principal"]: row for row in who}

    assert by_name["User:dave"]["hosts"] == ["10.0.0.0/8"]
    assert by_name["User:dave"]["binding"]["host"] == "10.0.0.0/8"
    assert by_name["User:alice"]["rule"] == "MatchingAcl"
    assert "User:bob" not in by_name


def test_what_can_begins_with_denials(console: TestClient) -> None:
    """The first row is the pattern on which a DENY decides."""
    page = console.get("/what-can", params={"principal": "User:bob"}).text

    assert page.index('<span class="op no">WRITE') < page.index('<span class="op yes">WRITE')


def test_a_pasted_line_fills_the_form(console: TestClient) -> None:
    """Principal, host, operation and resource are those of the line; the change is offered."""
    page = console.get("/why", params={"line": LINE}).text

    assert 'name="principal" type="text" value="User:bob"' in page
    assert 'value="10.0.0.7"' in page
    assert "remove</span>" in page


def test_an_exception_asks_for_what_it_lacks(console: TestClient) -> None:
    """A client's exception has no principal; with one in the form the answer is there."""
    line = "TopicAuthorizationException: Not authorized to access topics: [orders]"

    asks = console.get("/why", params={"line": line}).text
    answers = console.get(
        "/why", params={"line": line, "principal": "User:eve", "operation": "Read"}
    ).text

    assert "does not say the principal and the operation" in asks
    assert "Nearly" not in asks
    assert 'class="verdict no">denied' in answers


def test_forms_with_texts_become_links(console: TestClient) -> None:
    """A short text stands in the link itself, a long one is kept for it."""
    short = console.post("/why", data={"line": LINE})
    long = console.post("/why", data={"line": LINE + "\n" * 3000 + "end"})

    assert "line=%5B2026" in str(short.url)
    assert "line=text%3A" in str(long.url)
    assert "User:bob" in short.text
    assert "User:bob" in long.text


def test_wrong_options_are_explained(console: TestClient) -> None:
    """What the command refuses is on the page, with the command."""
    page = console.get("/who-can", params={"name": "orders", "operation": "CreateTokens"})

    assert "no request has the operation CreateTokens on a TOPIC" in unescape(page.text)


def test_addresses_are_those_of_the_command_line(console: TestClient, tmp_path: Path) -> None:
    """A request cannot make the console read another file or connect elsewhere."""
    for other in (str(tmp_path), "kafka://example.com:9092", "/etc/passwd"):
        answer = console.get("/who-can", params={"name": "orders", "set": other})

        assert answer.status_code == 400
        assert "the command line has" in answer.text


def test_values_are_no_options(console: TestClient) -> None:
    """A value that begins with a hyphen stays a value."""
    page = console.get("/who-can", params={"name": "--output=json"})

    assert "no topic can have this name" in unescape(page.text)
