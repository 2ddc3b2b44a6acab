"""Changes in the console: who may make them, what is confirmed, and who it was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from starlette.testclient import TestClient

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.console.login.exposure import exposure_of
from doorkeeper.console.page import Settings
from doorkeeper.server.security.users_file import set_user
from testkit.consoles import ACLS, HEAD, console_over, options, sets_at, write_advice

WANTED = (
    f"{HEAD}User:alice,Topic,LITERAL,orders,Read,Allow,*\nUser:new,Topic,LITERAL,n,Read,Allow,*\n"
)
QUERY = {"whole": "1"}

Open = Callable[..., TestClient]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens a console of a wanted file and a store, which differ."""
    (tmp_path / "wanted.csv").write_text(WANTED, encoding="utf-8")
    (tmp_path / "acls.csv").write_text(ACLS, encoding="utf-8")
    write_advice(tmp_path / "advice")
    store = f"store:{tmp_path / 'data'}"
    words = ["acls", "import", str(tmp_path / "acls.csv"), store]
    assert CliRunner().invoke(doorkeeper, words).exit_code == 0
    (tmp_path / "findings.json").write_text(
        json.dumps({"version": 1, "findings": {"unused:g1": {"kind": "unused", "note": "n"}}}),
        encoding="utf-8",
    )
    usual = Settings(
        allow_changes=True, advice=tmp_path / "advice", findings=tmp_path / "findings.json"
    )
    with ExitStack() as stack:

        def begin(*words: str, **changes: Any) -> TestClient:
            sets, settings = sets_at(tmp_path / "wanted.csv", store), replace(usual, **changes)
            exposure = exposure_of(options(*words))
            return stack.enter_context(console_over(sets, settings, exposure))

        yield begin


def form_of(page: str) -> dict[str, str]:
    """Return the hidden fields of the form that changes something."""
    form = page.split('action="/change" method="post"')[1].split("</form>", maxsplit=1)[0]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


def change(console: TestClient, **fields: str) -> httpx2.Response:
    """Send the form of the plan, confirmed, with some fields changed."""
    form = form_of(console.get("/change", params=QUERY).text)
    return console.post("/change", data=form | {"typed": "9"} | fields)


def differences(console: TestClient) -> int:
    plan = console.get("/change.json", params=QUERY).json()
    return len(plan["added"]) + len(plan["removed"])


def test_a_confirmed_plan_is_applied(opened: Open, tmp_path: Path) -> None:
    """It makes the address as wanted; the history has the person, not their words alone."""
    console = opened()
    page = console.get("/change", params=QUERY)
    answer = change(console)
    history = CliRunner().invoke(
        doorkeeper, ["history", "list", f"store:{tmp_path / 'data'}", "--output", "json"]
    )

    assert "type the number of changes: 9" in page.text
    assert "decisions change" in page.text
    assert answer.status_code == 200
    assert "1 added, 8 removed" in answer.text
    assert differences(console) == 0
    assert re.search(r'"clientId": "console:\S+"', history.stdout)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"typed": "8"}, "not confirmed; to confirm, type"),
        ({"typed": ""}, "not confirmed; to confirm, type"),
        ({"digest": "0" * 64}, "has changed since it was shown"),
        ({"whole": ""}, "has changed since it was shown"),
        ({"csrf": "x"}, "belongs to another session"),
        ({"csrf": ""}, "belongs to another session"),
        ({"with": "store:/etc"}, "found the address"),
    ],
)
def test_what_is_not_confirmed_is_not_done(
    opened: Open, fields: dict[str, str], reason: str
) -> None:
    """Another number, another plan, a form of another session, an address of nobody's choice."""
    console = opened()
    answer = change(console, **fields)

    assert answer.status_code == 403
    assert reason in answer.text
    assert differences(console) == 9


def test_a_plan_that_has_changed_is_shown_again(opened: Open, tmp_path: Path) -> None:
    """What was confirmed is what was seen."""
    console = opened()
    form = form_of(console.get("/change", params=QUERY).text)
    (tmp_path / "wanted.csv").write_text(WANTED + "User:b,Topic,LITERAL,b,Read,Allow,*\n", "utf-8")
    answer = console.post("/change", data=form | {"typed": "9"})

    assert "has changed since it was shown" in answer.text


def test_without_the_option_nothing_changes(opened: Open) -> None:
    """There is no form, and sending it anyway is refused."""
    console = opened(allow_changes=False)

    assert "without --allow-changes" in console.get("/change", params=QUERY).text
    for path in ("/change", "/accept"):
        answer = console.post(path, data={"csrf": "x", "typed": "9", **QUERY})
        assert answer.status_code == 403
        assert "without --allow-changes" in answer.text


def test_viewers_change_nothing(opened: Open, tmp_path: Path) -> None:
    """Neither with the form of an operator nor with their own token."""
    set_user(tmp_path / "viewers", "vera", "x", bytes(16))
    console = opened(f"--viewers={tmp_path / 'viewers'}")
    console.post("/login", data={"name": "vera", "password": "x"})
    page = console.get("/change", params=QUERY).text
    csrf = page.split('name="csrf" value="')[1].split('"')[0]

    assert "Only operators" in page
    for path in ("/change", "/accept"):
        answer = console.post(path, data={"csrf": csrf, "typed": "9", **QUERY})
        assert answer.status_code == 403
        assert "only operators" in answer.text


def test_a_finding_is_accepted_until_a_day(opened: Open, tmp_path: Path) -> None:
    """The file of findings has the day and who it was; what stood there stays."""
    console = opened()
    page = console.get("/grants", params={"grant": "g1"}).text
    csrf = page.split('name="csrf" value="')[1].split('"')[0]
    form = {"csrf": csrf, "grant": "g1"}
    refused = [
        console.post("/accept", data=form | fields).status_code
        for fields in (
            {"until": "x"},
            {"until": "2020-01-01"},
            {"until": "2999-01-01", "grant": ""},
        )
    ]
    answer = console.post("/accept", data=form | {"until": "2999-01-01"})
    finding = json.loads((tmp_path / "findings.json").read_text("utf-8"))["findings"]["unused:g1"]

    assert refused == [403, 403, 403]
    assert answer.status_code == 200
    assert finding["accepted_until"] == "2999-01-01"
    assert finding["kind"] == "unused"
    assert finding["note"].startswith("n; accepted until 2999-01-01 by ")
    assert "2999-01-01" in console.get("/grants", params={"grant": "g1"}).text
