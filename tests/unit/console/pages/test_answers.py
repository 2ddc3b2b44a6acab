"""The pages of the console: their answers are those of the commands that they show."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.console.page import Page, Settings
from doorkeeper.console.pages import PAGES
from testkit.console_questions import LINE, PROPOSED, QUESTIONS, TEXTS
from testkit.consoles import ACLS, HEAD, console_over, sets_at, write_advice

ADVISED = Settings(advice=Path("advice"))
REMOVED = ("--allow-principal=User:alice", "--operation=Read", "--topic=orders")
COMMAND = re.compile(r'<textarea id="line-\d+"[^>]*>(.*?)</textarea>', re.DOTALL)


def command_lines(page: str) -> list[list[str]]:
    """Return the words of the command lines that a page shows."""
    lines = [shlex.split(unescape(line)) for line in COMMAND.findall(page)]
    return [words for program, *words in lines if program == "doorkeeper"]


def test_each_page_has_a_question_here() -> None:
    """A new page is tested like the others."""
    assert [page.name for page in PAGES] == list(QUESTIONS)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a console with a history and a file, in a folder with the pasted texts."""
    folder = tmp_path_factory.mktemp("asked")
    for name, text in {"acls.csv": ACLS, **TEXTS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_advice(folder / "advice")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in (["import", "acls.csv"], ["remove", "--force", *REMOVED]):
            done = CliRunner().invoke(doorkeeper, ["acls", *words, "store:data"])
            assert done.exit_code == 0, done.output
        with console_over(sets_at("store:data", "acls.csv"), ADVISED) as client:
            yield client


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_json_is_what_the_command_line_prints(asked: TestClient, page: Page) -> None:
    """Each command line of a page, run as such, prints the output that the page offers."""
    shown = asked.get(f"/{page.name}", params=QUESTIONS[page.name])
    lines = command_lines(shown.text)

    for part, words in enumerate(lines):
        printed = CliRunner().invoke(doorkeeper, [*words, "--output", "json"])
        query = QUESTIONS[page.name] | {"part": str(part)}
        offered = asked.get(f"/{page.name}.json", params=query)
        # A plan has the whole path of its file, which is that of the pasted text here.
        text = printed.stdout.replace(f"{Path.cwd()}/proposed", "proposed")
        assert json.loads(offered.text) == json.loads(text)
    assert shown.status_code == 200
    assert lines or page.answers


RULES = """\
version: 1
rules:
  - {rule: never, principal: "User:eve", operation: READ, resourceType: TOPIC, name: orders}
  - {rule: never, principal: "User:eve", operation: WRITE, resourceType: TOPIC, name: orders}
"""
OF_COMMANDS = [page for page in PAGES if page.answers is None]


@pytest.mark.parametrize("page", OF_COMMANDS, ids=lambda page: page.name)
def test_markdown_has_the_command_and_its_text(asked: TestClient, page: Page) -> None:
    """It is a block with the command line, and one with what that prints."""
    words, *_ = command_lines(asked.get(f"/{page.name}", params=QUESTIONS[page.name]).text)

    output = ["--output", page.markdown] if page.markdown else []
    printed = CliRunner().invoke(doorkeeper, [*words, *output])
    markdown = asked.get(f"/{page.name}.md", params=QUESTIONS[page.name]).text

    assert f"$ doorkeeper {shlex.join(words)}" in markdown
    assert printed.stdout.strip() in markdown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_empty_forms_have_no_answer(console: TestClient, page: Page) -> None:
    """A page without a question shows its form, and neither an error nor a command."""
    answer = console.get(f"/{page.name}")

    assert answer.status_code == 200
    assert "<form" in answer.text
    assert (COMMAND.search(answer.text) is None) == (page.name != "matrix")
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

    assert "found CreateTokens; allowed for TOPIC: Read, Write" in unescape(page.text)


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


def test_grants_have_their_evidence(asked: TestClient) -> None:
    """Unused ones come first; one of them has its reason and its use over days."""
    page = asked.get("/grants").text
    wide = asked.get("/grants", params={"kind": "wide", "grant": "g2"}).text
    offered = asked.get("/grants.json").json()["grants"]

    assert [one["id"] for one in offered] == ["g1", "g2"]
    assert "never used" in page
    assert "1 name of 40 that it covers" in " ".join(wide.split())
    assert "2026-11-02: 7" in wide
    assert "all begin" not in page


def test_the_matrix_has_a_table_with_the_same(asked: TestClient) -> None:
    """Each cell of the picture with an ACL is a row of the table behind it."""
    page = asked.get("/matrix", params={"principal": "bob", "set": "acls.csv"}).text

    assert re.findall(r'class="cell (\w+)"', page) == ["prefixed", "deny"]
    assert page.count('<span class="op no">WRITE') == 1
    assert "denied WRITE; allowed DESCRIBE" in page


def test_a_review_checks_the_rules_of_the_console(acls: Path, tmp_path: Path) -> None:
    """A rule that the proposed file breaks is named, with who breaks it."""
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    with console_over(sets_at(acls), Settings(rules=rules)) as console:
        page = console.get("/review", params={"file": PROPOSED}).text

    assert page.count('<span class="verdict no">broken') == 1
    assert page.count('<span class="verdict yes">holds') == 1
    assert "User:eve" in page[page.index("broken") :]
    assert page.count(">by this change<") == 1
    assert "before this change too" not in page


def test_a_rule_that_is_broken_already_is_told_from_one_that_the_file_breaks(
    acls: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES.replace("User:eve", "User:alice"), encoding="utf-8")
    with console_over(sets_at(acls), Settings(rules=rules)) as console:
        page = console.get("/review", params={"file": acls.read_text(encoding="utf-8")}).text

    assert "before this change too" in page
    assert ">by this change<" not in page


def test_who_broke_a_rule_before_can_break_it_anew(acls: Path, tmp_path: Path) -> None:
    """The rule needs a state before, and the example is the one of the file."""
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "version: 1\nrules:\n"
        '  - {rule: only, principal: "User:bob", operation: WRITE, resourceType: TOPIC}\n'
        "  - {rule: no more than before}\n",
        encoding="utf-8",
    )
    file = f"{HEAD}User:carol,Topic,LITERAL,bills,Write,Allow,*\n"
    with console_over(sets_at(acls), Settings(rules=rules)) as console:
        page = console.get("/review", params={"file": file}).text

    assert page.count(">by this change<") == 2
    assert "may WRITE topic <bdi>bills</bdi>" in " ".join(page.split())


def test_an_acl_that_is_not_there_cannot_be_removed(console: TestClient) -> None:
    page = console.get("/what-if", params={"remove": "User:x,TOPIC,LITERAL,no,READ,ALLOW,*"}).text

    assert "There is no such ACL to remove" in page
    assert "--without: " not in page


def test_the_nearest_acl_is_named_when_a_host_was_left_out(console: TestClient) -> None:
    row = "User:dave,TOPIC,LITERAL,orders,READ,ALLOW"
    page = console.get("/what-if", params={"remove": f"{row},*"}).text

    assert f"{row},*; did you mean {row},10.0.0.0/8?" in page


def test_half_a_row_stays_in_the_form(console: TestClient) -> None:
    page = console.get("/what-if", params={"principal": "User:x", "does": "remove"})

    assert page.status_code == 200
    assert "Not a row yet" in page.text
    assert 'value="User:x"' in page.text
    assert '<option value="remove" selected>' in page.text


def test_a_name_without_acls_is_said_to_have_none(tmp_path: Path) -> None:
    file = tmp_path / "one.csv"
    file.write_text(f"{HEAD}User:a,Topic,LITERAL,orders,Read,Allow,*\n", encoding="utf-8")
    with console_over(sets_at(file)) as client:
        page = client.get("/who-can", params={"name": "invoices"}).text

    assert "No ACL covers topic <bdi>invoices</bdi>" in page
    assert "Super users may do it too" in page


def test_a_day_before_the_history_has_its_first_state(asked: TestClient) -> None:
    page = asked.get("/history", params={"name": "orders", "at": "2001-01-01"}).text

    assert "This is its earliest state" in page
    assert "--at=0" in page


def test_grants_say_how_old_their_evidence_is(asked: TestClient) -> None:
    page = asked.get("/grants", params={"kind": "all"}).text

    assert "Evidence: decisions" in page
    assert "The evidence ends" in page


def test_a_permission_from_some_hosts_is_not_called_none(console: TestClient) -> None:
    whole = console.get("/what-can", params={"principal": "User:dave"}).text
    host = console.get("/what-can", params={"principal": "User:dave", "host": "10.1.2.3"}).text
    matrix = console.get("/matrix").text

    assert '<span class="op some">READ from <a href="/who-can?' in whole
    assert '<span class="op yes">READ</span>' in host
    assert "some hosts" not in host
    assert "User:dave, orders: nothing; from some hosts only READ" in matrix
